import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createManifest } from './manifest.ts'
import manifest from './package.json' with { type: 'json' }

type Options = Parameters<typeof createManifest>[0]

const make = (options: Partial<Options> & { isFirefox: boolean }): ReturnType<typeof createManifest> =>
  createManifest({ team: undefined, key: undefined, geckoId: undefined, ...options })

describe('the package of the extension', () => {
  it('never goes to a package registry: browsers get it as a zip', () => {
    expect(manifest.private).toBe(true)
  })

  it('has a version that both browsers accept', () => {
    expect(manifest.version).toMatch(/^\d+(?:\.\d+){1,3}$/)
  })
})

describe.each([
  { browser: 'Chromium', isFirefox: false },
  { browser: 'Firefox', isFirefox: true },
])('the manifest for $browser', ({ isFirefox }) => {
  const plain = make({ isFirefox })

  it('asks for nothing at install that a browser warns of', () => {
    expect(plain.permissions).toEqual(['activeTab', 'alarms', 'cookies', 'scripting', 'storage'])
    expect(plain.host_permissions).toBeUndefined()
    expect(plain.optional_permissions).toBeUndefined()
    expect(plain.content_scripts).toBeUndefined()
    expect(plain.web_accessible_resources).toBeUndefined()
    expect(plain.externally_connectable).toBeUndefined()
  })
})

describe('the id', () => {
  it('in Chromium follows from the key, and is the one that the documents name', () => {
    const { key = '' } = make({ isFirefox: false })
    const hash = createHash('sha256').update(Buffer.from(key, 'base64')).digest('hex')
    const letter = (digit: string): string => String.fromCodePoint(97 + Number.parseInt(digit, 16))
    expect(hash.slice(0, 32).replaceAll(/./g, letter)).toBe('ljfcdmoeodnmpeliocomondphkdlbfak')
  })

  it('is replaced by that of the store, or left to it', () => {
    const keys = ['another', ''].map((key) => make({ isFirefox: false, key }).key)
    expect(keys).toEqual(['another', undefined])
  })

  it('in Firefox is in the manifest, with what is collected', () => {
    const of = (geckoId?: string): unknown =>
      make({ isFirefox: true, geckoId }).browser_specific_settings?.gecko
    const collected = { required: ['none'], optional: ['authenticationInfo'] }
    expect(of()).toMatchObject({
      id: 'drawbridge@drawbridge.example',
      data_collection_permissions: collected,
    })
    expect(of('notes@example.com')).toMatchObject({ id: 'notes@example.com' })
  })
})
