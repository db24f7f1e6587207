import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createManifest } from './manifest.ts'
import manifest from './package.json' with { type: 'json' }

const team = {
  id: 'team',
  label: 'Notes',
  appUrl: 'https://notes.example.com/app',
  baseUrl: undefined,
  cookieName: undefined,
}

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

  it('of a team asks for the host of its app, and for no more', () => {
    const { host_permissions: sites, ...others } = make({ isFirefox, team })
    expect(sites).toEqual(['https://notes.example.com/*', 'http://notes.example.com/*'])
    expect(others).toEqual(plain)
  })

  it('lets the pages run, fetch and be framed as little as they can do with', () => {
    const policy = (plain.content_security_policy as { extension_pages: string }).extension_pages
    expect(policy.split('; ').toSorted()).toEqual([
      "base-uri 'none'",
      'connect-src https: http://localhost:* http://127.0.0.1:*',
      "default-src 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "img-src 'self'",
      "script-src 'self'",
      "style-src 'self'",
    ])
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
