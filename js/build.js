/**
 * Build the page and everything it needs into dist/: `npm run build`. Any web server can serve that folder.
 *
 * The modules are copied unchanged, except src/engine.js: browsers cannot resolve npm packages, so its import becomes
 * the path of the copied ONNX Runtime.
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
