import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createManifest } from './manifest.ts'

type Options = Parameters<typeof createManifest>[0]

const make = (options: Partial<Options> & { isFirefox: boolean }): ReturnType<typeof createManifest> =>
  createManifest({ key: undefined, geckoId: undefined, ...options })

describe('the id', () => {
  it('the id in Chromium follows from the key and is the documented one', () => {
    const { key = '' } = make({ isFirefox: false })
    const hash = createHash('sha256').update(Buffer.from(key, 'base64')).digest('hex')
    const letter = (digit: string): string => String.fromCodePoint(97 + Number.parseInt(digit, 16))
    expect(hash.slice(0, 32).replaceAll(/./g, letter)).toBe('ljfcdmoeodnmpeliocomondphkdlbfak')
  })

  it('the key in Chromium can be replaced, or left out for the store', () => {
    const keys = ['another', ''].map((key) => make({ isFirefox: false, key }).key)
    expect(keys).toEqual(['another', undefined])
  })

  it('the manifest for Firefox has the id and what data is collected', () => {
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
