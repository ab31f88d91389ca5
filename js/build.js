/**
 * The page with all it needs, in dist/: `npm run build`. Serve that folder from anywhere.
 *
 * The modules are copied as they are. Only src/engine.js changes: a browser knows nothing of npm's packages, so it is
 * told where ONNX Runtime's copy lies.
 */
import { cpSync, copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

const PACKAGE = 'onnxruntime-web/wasm';
const RUNTIME = ['ort.wasm.bundle.min.mjs', 'ort-wasm-simd-threaded.wasm'];

process.chdir(import.meta.dirname);
rmSync('dist', { recursive: true, force: true });
mkdirSync('dist/runtime', { recursive: true });
copyFileSync('index.html', 'dist/index.html');
cpSync('page', 'dist/page', { recursive: true });
cpSync('src', 'dist/src', { recursive: true });
for (const file of RUNTIME) copyFileSync(`node_modules/onnxruntime-web/dist/${file}`, `dist/runtime/${file}`);

const engine = readFileSync('src/engine.js', 'utf8');
if (!engine.includes(`'${PACKAGE}'`)) throw new Error(`src/engine.js does not import ${PACKAGE}`);
writeFileSync('dist/src/engine.js', engine.replace(`'${PACKAGE}'`, `'../runtime/${RUNTIME[0]}'`));
