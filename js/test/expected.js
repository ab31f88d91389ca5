/** Models and Python's answers, in the folder $CAPSULET_EXPECTED that tests/browser/conftest.py writes. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const folder = process.env.CAPSULET_EXPECTED;
const built = existsSync(new URL('../src/capsulet.wasm', import.meta.url));
export const skip = !folder ? 'needs answers of Python: run `pytest tests/browser`' : !built && 'src/capsulet.wasm is missing: run `make wasm`';
export const expected = (name) => JSON.parse(readFileSync(join(folder, name), 'utf8'));
export const model = (name) => new Uint8Array(readFileSync(join(folder, name)));
/** Names of the models: model, and sets (multi-label) and compressed if there are any. */
export const names = folder ? expected('names.json') : [];
