import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
  root: import.meta.dirname,
  base: '/',
  plugins: [react()],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2022',
    // Keeps light-dark() unchanged: older targets would rewrite it into many variables.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    // The content security policy forbids data: URLs, so nothing may be inlined.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 900,
    rolldownOptions: { checks: { bundlerTimings: false } },
  },
  worker: { format: 'es' },
  server: {
    proxy: Object.fromEntries(
      ['/v1', '/task', '/dag', '/health', '/ready'].map((path) => [path, 'http://127.0.0.1:8085']),
    ),
  },
});
