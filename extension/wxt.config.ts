import { fileURLToPath } from 'node:url'
import { defineConfig } from 'wxt'
import { arrowFunctions, createInlineStyles, nativeInterface } from './build-plugins.ts'
import { createManifest } from './manifest.ts'
import { readTeam } from './team.ts'

const inlineStyles = createInlineStyles()

export default defineConfig({
  // Everything is imported by name; nothing appears by itself.
  imports: false,
  // Without it Firefox gets manifest version 2.
  manifestVersion: 3,
  // Where tests and the release look. A test that builds does so elsewhere, not below the others' feet.
  outDir: process.env.EXTENSION_OUT_DIR ?? '../dist/extension',
  manifest: ({ browser, mode }) =>
    createManifest({
      isFirefox: browser === 'firefox',
      team: readTeam(mode, process.env),
      key: process.env.EXTENSION_KEY,
      geckoId: process.env.EXTENSION_GECKO_ID,
    }),
  vite: ({ browser, mode }) => {
    const team = readTeam(mode, process.env)
    return {
      plugins: [nativeInterface(), arrowFunctions(), inlineStyles.plugin()],
      define: { 'import.meta.env.TEAM': JSON.stringify(team === undefined ? '' : JSON.stringify(team)) },
      build: {
        target: browser === 'firefox' ? 'firefox142' : 'chrome127',
        minify: true,
        sourcemap: false,
        // Links that load what a script imports together with the script; every browser knows them.
        modulePreload: { polyfill: false },
        reportCompressedSize: false,
        // Reading a property has no effect in this code, so what only does that can go.
        rolldownOptions: {
          treeshake: { propertyReadSideEffects: false, manualPureFunctions: ['Uint8Array.from'] },
        },
      },
    }
  },
  hooks: {
    'build:manifestGenerated': (_wxt, manifest) => {
      // Pages of ours need room, and in Firefox the question about a permission is drawn over a frame.
      if (manifest.options_ui !== undefined) manifest.options_ui.open_in_tab = true
      const policy = manifest.content_security_policy as { extension_pages: string }
      policy.extension_pages = inlineStyles.allow(policy.extension_pages)
    },
    'zip:sources:done': ({ logger }) => {
      // It looks for the files listed there in the wrong folder, and complains once for each.
      logger.warn = () => {}
    },
  },
  zip: {
    name: 'drawbridge',
    // Absolute: a relative path counts from wherever the command runs.
    sourcesRoot: fileURLToPath(new URL('..', import.meta.url)),
    // What a reviewer needs to build the same bytes: the lock file, and for npm ci the manifests of all workspaces.
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
