import { readFileSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type CodeSplittingNameFunction, defineConfig } from 'rolldown'
import { publishOutput } from './scripts/published-output.ts'
import { thirdPartyNotices } from './scripts/third-party-notices.ts'

const output = {
  format: 'esm',
  entryFileNames: '[name].mjs',
  chunkFileNames: '[name]-[hash].mjs',
  sourcemap: true,
  sourcemapExcludeSources: true,
  // Class names and stacks are read in logs. ASCII: V8 keeps two bytes for each character of a file with one beyond Latin-1.
  comments: { legal: true, annotation: false, jsdoc: false },
  minify: { compress: false, mangle: false, codegen: { removeWhitespace: false, asciiOnly: true } },
  cleanDir: true,
} as const

// In `dist`, so that whatever ignores that folder ignores these too; one for each build that writes there.
const fresh = (folder: string, part: string): string => `${folder}/.new-${part}`

/**
 * Puts everything that `entries` import before they run into one file called `name`, also what later parts share with it. Of
 * two groups that want a module the first in the list has it.
 */
function createGroup(
  name: string,
  entries: readonly string[],
): { debugName: string; name: CodeSplittingNameFunction } {
  const group = new Set(entries.map((entry) => fileURLToPath(new URL(entry, import.meta.url))))
  let isComplete = false
  return {
    debugName: name,
    name: (id, context) => {
      if (!isComplete) {
        // A set that grows is walked to its new end. What is no file, such as node:fs, has nothing to follow.
        for (const module of group) {
          for (const imported of context.getModuleInfo(module)?.importedIds ?? []) {
            if (isAbsolute(imported)) group.add(imported)
          }
        }
        isComplete = true
      }
      return group.has(id) ? name : null
    },
  }
}

/** Takes the ES modules of opentelemetry-js, which its packages name for browsers alone: of those only what is used is bundled. */
const openTelemetry = {
  name: 'es-modules-of-opentelemetry',
  resolveId: {
    filter: { id: /^@opentelemetry\/[a-z-]+$/ },
    handler(source: string): string | undefined {
      const folder = fileURLToPath(new URL(`node_modules/${source}`, import.meta.url))
      const { module } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8')) as { module?: string }
      return module && join(folder, module)
    },
  },
}

/** Leaves out HTTP/2, which undici does without where Node has none. The bridge never uses it, and loading it takes 2 MB. */
const withoutHttp2 = {
  name: 'without-http2',
  resolveId: { filter: { id: /^node:http2$/ }, handler: () => '\0http2' },
  load: { filter: { id: /^\0http2$/ }, handler: () => 'export const constants = {}' },
}

export default defineConfig([
  {
    input: { main: 'server/main.ts', library: 'server/library.ts' },
    platform: 'node',
    plugins: [openTelemetry, thirdPartyNotices(), publishOutput('server/dist', () => true)],
    output: { ...output, dir: fresh('server/dist', 'server') },
  },
  {
    input: { main: 'bridge/main.ts' },
    platform: 'node',
    plugins: [
      openTelemetry,
      withoutHttp2,
      thirdPartyNotices(),
      publishOutput(
        'bridge/dist',
        (name) => !name.startsWith('keychain-helper.') && !name.startsWith('.new-'),
      ),
    ],
    // Native and optional: what is installed beside the bundle is loaded, when a key is read.
    external: ['keytar'],
    // Its other build asks for its own files at run time, which no bundle has.
    resolve: { alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' } },
    // Read from disk at every start of a client, so bytes and files count.
    output: {
      ...output,
      dir: fresh('bridge/dist', 'bridge'),
      codeSplitting: {
        groups: [
          createGroup('start', ['bridge/main.ts']),
          // What a connection with a stored login loads.
          createGroup('stored-login', ['bridge/credentials/sealed-store.ts', 'bridge/oauth/login/login.ts']),
        ],
      },
    },
  },
  {
    // By itself: with a file in common it would load that of main, and so run a second bridge.
    input: { 'keychain-helper': 'bridge/credentials/keychain/keychain-helper.ts' },
    platform: 'node',
    plugins: [publishOutput('bridge/dist', () => false)],
    external: ['keytar'],
    output: { ...output, dir: fresh('bridge/dist', 'helper'), codeSplitting: false },
  },
])
