import { fileURLToPath } from 'node:url'
import { build, type Rolldown } from 'vite'
import { describe, expect, it } from 'vitest'

const main = fileURLToPath(new URL('../entrypoints/popup/main.ts', import.meta.url))

describe('the script of the popup', () => {
  it('is at most 5.5 kB small without core and platform, and has nothing of the page of settings', async () => {
    const bundle = await build({
      configFile: false,
      logLevel: 'silent',
      build: {
        write: false,
        minify: 'oxc',
        rolldownOptions: {
          input: main,
          external: /\/(?:core|platform)\//,
          output: { format: 'es', minify: true },
        },
      },
    })
    const { output } = bundle as Rolldown.RolldownOutput
    const chunks = output.filter((file) => file.type === 'chunk')
    expect(chunks).toHaveLength(1)
    const [{ code, moduleIds }] = chunks as [Rolldown.OutputChunk]
    expect(code.replaceAll(/import\s*\{.*?\}\s*from\s*["'`].*?["'`];?/g, '').length).toBeLessThanOrEqual(5500)
    expect(moduleIds.filter((id) => /\/settings\//.test(id))).toEqual([])
  })
})
