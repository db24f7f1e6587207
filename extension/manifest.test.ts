import { describe, expect, it } from 'vitest'
import manifest from './package.json' with { type: 'json' }

describe('the manifest of the extension', () => {
  it('never goes to a package registry: browsers get it as a zip', () => {
    expect(manifest.private).toBe(true)
  })

  it('has a version that both browsers accept', () => {
    expect(manifest.version).toMatch(/^\d+(?:\.\d+){1,3}$/)
  })
})
