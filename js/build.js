/** Build the page and everything it needs into dist/: `npm run build`. Any web server can serve that folder. */
import { copyFileSync, cpSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

process.chdir(fileURLToPath(new URL('.', import.meta.url)));
if (!existsSync('src/capsulet.wasm')) throw new Error('src/capsulet.wasm is missing: run `make wasm`');
rmSync('dist', { recursive: true, force: true });
mkdirSync('dist');
copyFileSync('index.html', 'dist/index.html');
cpSync('page', 'dist/page', { recursive: true });
cpSync('src', 'dist/src', { recursive: true });
