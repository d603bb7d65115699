# The charting library of `hcasim report --html`, as npm publishes it; the page carries it, so it works without a network. axe-core
# and hyparquet are for tests alone.
set(charts ${CMAKE_BINARY_DIR}/report/node_modules/echarts/dist/echarts.min.js)
if(NOT EXISTS ${charts} OR NOT EXISTS ${CMAKE_BINARY_DIR}/report/node_modules/axe-core/axe.min.js
   OR NOT EXISTS ${CMAKE_BINARY_DIR}/report/node_modules/hyparquet/package.json)
  find_program(NPM npm)
  if(NPM)
    file(COPY ${CMAKE_SOURCE_DIR}/testbenches/program/report/package.json ${CMAKE_SOURCE_DIR}/testbenches/program/report/package-lock.json DESTINATION ${CMAKE_BINARY_DIR}/report)
    execute_process(COMMAND ${NPM} ci --ignore-scripts --no-audit --no-fund WORKING_DIRECTORY ${CMAKE_BINARY_DIR}/report
                    OUTPUT_QUIET ERROR_VARIABLE npm_error TIMEOUT 300 RESULT_VARIABLE npm_status)
  endif()
  if(NOT NPM)
    message(STATUS "there is no npm, so `hcasim report --html` will refuse; `./dev setup report` installs it")
  elseif(NOT EXISTS ${charts})
    message(WARNING "npm did not fetch echarts (${npm_status}), so `hcasim report --html` will refuse: ${npm_error}")
  endif()
endif()
