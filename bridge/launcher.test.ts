import { execFile } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../tests/support/temporary-folder.ts'

const launcher = fileURLToPath(new URL('launcher.cjs', import.meta.url))

describe('the launcher', () => {
  let folder: string
  beforeEach(() => {
    folder = temporaryFolder()
    copyFileSync(launcher, join(folder, 'launcher.cjs'))
  })

  function bundle(): void {
    mkdirSync(join(folder, 'dist'))
    writeFileSync(join(folder, 'dist', 'main.mjs'), 'console.log(process.argv.slice(2).join())')
  }

  /** Starts it as a Node that says to be `version`. */
  function start(
    version: string,
    ...args: string[]
  ): Promise<{ code: number; stdout: string; stderr: string }> {
    const disguise = join(folder, 'disguise.cjs')
    writeFileSync(
      disguise,
      `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })`,
    )
    return new Promise((resolve) => {
      execFile(
        process.execPath,
        ['-r', disguise, join(folder, 'launcher.cjs'), ...args],
        (error, stdout, stderr) => resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
      )
    })
  }

  it.each(['20.19.0', '22.0.0', '26.10.0'])('the launcher starts the bundle on Node %s', async (version) => {
    bundle()
    expect(await start(version, 'a', '--b')).toEqual({ code: 0, stdout: 'a,--b\n', stderr: '' })
  })

  it.each(['10.24.1', '18.20.0', '20.18.3'])(
    'the launcher on Node %s names the required version and the one in use',
    async (version) => {
      bundle()
      const { code, stdout, stderr } = await start(version)
      expect(code).toBe(1)
      expect(stdout).toBe('')
      expect(stderr).toContain(
        `drawbridge needs Node 20.19 or newer; this is Node ${version} at ${process.execPath}.`,
      )
      expect(stderr.trimEnd().split('\n').at(-1)).toContain('absolute path')
    },
  )

  it('the launcher says when it is not built', async () => {
    const { code, stderr } = await start('26.10.0')
    expect(code).toBe(1)
    expect(stderr).toContain('npm run build')
  })

  it('the launcher contains only syntax that a Node of ten years ago can read', () => {
    const source = readFileSync(launcher, 'utf8').replaceAll(/^\s*\/\/.*$|'[^']*'/gm, '')
    expect(source).not.toMatch(/=>|`|\b(?:const|let|class|async|await|import)\b|\?\.|\?\?|\.\.\./)
  })
})
