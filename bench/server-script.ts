import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

/**
 * Writes a server script of this folder as JavaScript, and returns its path. Taking out the types as it starts would cost a
 * rival 17 MB and a tenth of its time. Packages are not bundled.
 */
export async function writeServerScript(script: string): Promise<string> {
  // Below the packages' folder, so that they are found.
  const dir = fileURLToPath(new URL('../node_modules/.cache/drawbridge-bench', import.meta.url))
  const bundle = await rolldown({
    input: fileURLToPath(new URL(script, import.meta.url)),
    platform: 'node',
    external: /^[^./]/,
    checks: { bundlerTimings: false },
  })
  const [entry] = (await bundle.write({ dir, entryFileNames: '[name].mjs' })).output
  await bundle.close()
  return `${dir}/${entry.fileName}`
}
