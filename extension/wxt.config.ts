import { fileURLToPath } from 'node:url'
import { defineConfig } from 'wxt'
import { createInlineStyles, nativeInterface } from './build-plugins.ts'
import { createManifest } from './manifest.ts'

const inlineStyles = createInlineStyles()

export default defineConfig({
  // Everything is imported by name, without auto-imports.
  imports: false,
  // Otherwise Firefox gets manifest version 2.
  manifestVersion: 3,
  // Read by tests and the release. Tests that build use a different folder.
  outDir: process.env.EXTENSION_OUT_DIR ?? '../dist/extension',
  manifest: ({ browser }) =>
    createManifest({
      isFirefox: browser === 'firefox',
      key: process.env.EXTENSION_KEY,
      geckoId: process.env.EXTENSION_GECKO_ID,
    }),
  vite: ({ browser }) => ({
    plugins: [nativeInterface(), inlineStyles.plugin()],
    build: {
      target: browser === 'firefox' ? 'firefox142' : 'chrome127',
      minify: true,
      sourcemap: false,
      // Omits a polyfill for preload links, which every supported browser has.
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
      // Property reads have no side effects in this code, so unused ones can be removed.
      rolldownOptions: {
        treeshake: { propertyReadSideEffects: false, manualPureFunctions: ['Uint8Array.from'] },
      },
    },
  }),
  hooks: {
    'build:manifestGenerated': (_wxt, manifest) => {
      // Our pages need room, and Firefox would draw permission prompts over a frame.
      if (manifest.options_ui !== undefined) manifest.options_ui.open_in_tab = true
      const policy = manifest.content_security_policy as { extension_pages: string }
      policy.extension_pages = inlineStyles.allow(policy.extension_pages)
    },
    'zip:sources:done': ({ logger }) => {
      // It looks for the listed files in the wrong folder, and warns about each.
      logger.warn = () => {}
    },
  },
  zip: {
    name: 'drawbridge',
    // Absolute: a relative path would depend on the working directory.
    sourcesRoot: fileURLToPath(new URL('..', import.meta.url)),
    // Needed by reviewers to build the same bytes: the lock file, and for npm ci the manifests of all workspaces.
    includeSources: [
      'extension/**',
      'shared/**/*.ts',
      '{bridge,server,shared}/package.json',
      'shared/tsconfig.json',
      'docs/extension.md',
      'LICENSE',
      'package.json',
      'package-lock.json',
      'tsconfig.base.json',
    ],
    excludeSources: ['**/node_modules/**', '**/.wxt/**', '**/*.test.ts'],
  },
})
