import { describe, expect, it } from 'vitest'
import manifest from './package.json' with { type: 'json' }

describe('the manifest of the bridge', () => {
  it('is published as mcp-drawbridge with the command drawbridge, for the Node versions that desktop clients bring', () => {
    expect(manifest.name).toBe('mcp-drawbridge')
    expect(manifest.bin).toEqual({ drawbridge: 'launcher.cjs' })
    expect(manifest.engines.node).toBe('>=20.19')
    expect(manifest).not.toHaveProperty('private')
  })

  it('installs nothing that is not in the bundle', () => {
    expect(manifest).not.toHaveProperty('dependencies')
    expect(manifest).not.toHaveProperty('scripts.install')
    expect(manifest).not.toHaveProperty('scripts.postinstall')
  })
})
