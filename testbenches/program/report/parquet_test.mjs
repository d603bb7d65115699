// node parquet_test.mjs HYPARQUET FILE: prints a Parquet file's rows as JSON, as another project's reader finds them.
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const [reader, file] = process.argv.slice(2);
const { parquetReadObjects } = await import(pathToFileURL(`${reader}/src/node.js`));
const bytes = readFileSync(file);
const rows = await parquetReadObjects({ file: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) });
console.log(JSON.stringify(rows, (_, value) => (typeof value === 'bigint' ? Number(value) : value ?? null)));
