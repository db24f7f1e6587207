import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import manifest from './package.json' with { type: 'json' }

it('the manifest of the bridge publishes mcp-drawbridge with the command drawbridge, for the Node versions that desktop clients bring', () => {
  expect(manifest.name).toBe('mcp-drawbridge')
  expect(manifest.bin).toEqual({ drawbridge: 'launcher.cjs' })
  expect(manifest.engines.node).toBe('>=20.19')
  expect(manifest).not.toHaveProperty('private')
})

it('the manifest of the bridge names purpose, author and licence, and only places that exist', () => {
  expect(manifest.description).toContain('MCP')
  expect(manifest.keywords).toEqual(
    expect.arrayContaining(['mcp', 'model-context-protocol', 'oauth', 'stdio']),
  )
  expect(manifest.license).toBe('MIT')
  const licence = readFileSync(new URL('LICENSE', import.meta.url), 'utf8')
  expect(licence).toContain(`MIT License\n\nCopyright (c) 2026 ${manifest.author}\n`)
  const { url, directory } = manifest.repository
  expect([`git+https://github.com/${manifest.mcpName.replace('io.github.', '')}.git`, 'bridge']).toEqual([
    url,
    directory,
  ])
  for (const place of ['homepage', 'bugs']) expect(manifest).not.toHaveProperty(place)
})

it('the manifest of the bridge installs nothing that is not in the bundle', () => {
  expect(manifest).not.toHaveProperty('dependencies')
  expect(manifest).not.toHaveProperty('scripts.install')
  expect(manifest).not.toHaveProperty('scripts.postinstall')
})
