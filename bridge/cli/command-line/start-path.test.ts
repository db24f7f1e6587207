import { readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const bridge = fileURLToPath(new URL('../..', import.meta.url))

/** Every module loaded before the first message can be sent: imports without `await`, other than types. */
function loadedBy(entry: string): { files: Set<string>; packages: Set<string> } {
  const files = new Set<string>()
  const packages = new Set<string>()
  const visit = (file: string): void => {
    const name = relative(bridge, file)
    if (files.has(name) || !file.endsWith('.ts')) return
    files.add(name)
    const source = readFileSync(file, 'utf8')
    const imports = /^(?:import|export) (?!type )(?:[^;'"]*? from )?'([^']+)'/gms
    for (const [, from = ''] of source.matchAll(imports)) {
      if (from.startsWith('.')) visit(join(dirname(file), from))
      else if (!from.startsWith('node:') && !from.startsWith('@drawbridge/shared/')) packages.add(from)
    }
  }
  visit(join(bridge, entry))
  return { files, packages }
}

describe('a connection, before its first message', () => {
  const { files, packages } = loadedBy('main.ts')

  it('a connection loads the modules that this test can follow', () => {
    expect(files).toContain('proxy/proxy.ts')
    expect(files).toContain('cli/connect/connect.ts')
    expect(files).toContain('http/undici-client.ts')
  })

  it('a connection loads no packages before its first message but the HTTP client, the event parser and the command-line parser', () => {
    expect([...packages].sort()).toEqual(['commander', 'eventsource-parser', 'undici'])
  })

  it('a connection loads neither the sign-in nor any command before its first message', () => {
    const loaded = [...files]
    expect(loaded.filter((file) => file.startsWith('oauth/')).sort()).toEqual(['oauth/login-port.ts'])
    expect(loaded.filter((file) => file.startsWith('credentials/')).sort()).toEqual([
      'credentials/credential-store.ts',
      'credentials/private-folder.ts',
    ])
    expect(loaded.filter((file) => file.startsWith('cli/terminal/')).sort()).toEqual([
      'cli/terminal/output.ts',
      'cli/terminal/program-name.ts',
    ])
    // Failures are told apart by their classes.
    expect(loaded.filter((file) => file.startsWith('install/'))).toEqual(['install/install-error.ts'])
  })
})
