/** Python's answers, in the folder $CAPSULET_EXPECTED that tests/browser/conftest.py writes. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

export const folder = process.env.CAPSULET_EXPECTED;
export const skip = folder ? false : 'needs answers of Python: run `pytest tests/browser`';
export const expected = async (name) => JSON.parse(await readFile(join(folder, name), 'utf8'));
export const model = async (name) => new Uint8Array(await readFile(join(folder, name)));
