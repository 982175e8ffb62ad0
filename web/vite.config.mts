import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

const outDir = '../dist/console';

/** Writes a Brotli and a gzip form beside each text asset, so that the service compresses nothing. */
const precompress: Plugin = {
  name: 'precompress',
  apply: 'build',
  closeBundle() {
    const assets = join(import.meta.dirname, outDir, 'assets');
    for (const name of readdirSync(assets).filter((asset) => !asset.endsWith('.woff2'))) {
      const file = join(assets, name);
      const content = readFileSync(file);
      writeFileSync(`${file}.br`, brotliCompressSync(content));
      writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }));
    }
  },
};

export default defineConfig({
  // The service writes `<base>` into the page, so one build works below any BASE_PATH.
  base: './',
  build: {
    outDir,
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2022',
    // Browsers that know `light-dark()`: its replacement for older ones loses the colors.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
  },
  plugins: [precompress],
});
