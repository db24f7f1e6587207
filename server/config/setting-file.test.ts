import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../tests/support/temporary-folder.ts'
import { checkSettings } from './config.ts'
import { settingsOfObject } from './setting-source.ts'
import type { Settings } from './setting-table.ts'
import { faultTexts, fileFaults, fileFields } from './setting-file.ts'

let folder: string
beforeEach(() => {
  folder = temporaryFolder()
})

function texts(given: Settings): string[] {
  const checked = checkSettings(settingsOfObject(given), { production: false })
  return faultTexts(fileFaults(checked, fileFields, 0), checked.nameOf)
}

const entry = (kid: string): string => `${kid}:${Buffer.alloc(32, kid).toString('base64')}`

describe('a key file', () => {
  const keyFile = (text: string): Settings => {
    writeFileSync(join(folder, 'ring'), text)
    return { secretKeys: `file:${join(folder, 'ring')}` }
  }

  it.each(['', 'a:short', `${entry('a')}\nmaterial`, `${entry('a')},${entry('a')}`])(
    'a key file that holds %j is a fault that does not repeat it',
    (text) => {
      const [fault, ...more] = texts(keyFile(text))
      expect(fault).toMatch(/^secretKeys: .*ring holds no key ring: expected/)
      expect(fault).not.toMatch(/material|short|YWFh/)
      expect(more).toEqual([])
    },
  )

  it('a key file that is a folder or missing is a fault, except the one that the server creates', () => {
    expect(texts({ secretKeys: `file:${folder}` })).toEqual([expect.stringMatching(/is a folder/)])
    expect(texts({ secretKeys: `file:${folder}/none` })).toEqual([
      expect.stringMatching(/file not found: .*none\. .*keys generate > /),
    ])
    expect(texts({ store: `sqlite:${folder}/server.db` })).toEqual([])
    mkdirSync(join(folder, 'secret-keys'))
    expect(texts({ store: `sqlite:${folder}/server.db` })).toEqual([
      expect.stringMatching(/^secretKeys: .*secret-keys is a folder/),
    ])
  })

  it('a key file may have a byte order mark, in UTF-8 or UTF-16', () => {
    const marked = `\uFEFF${entry('a')}\n`
    for (const encoding of ['utf8', 'utf16le'] as const) {
      writeFileSync(join(folder, 'ring'), Buffer.from(marked, encoding))
      expect(texts({ secretKeys: `file:${join(folder, 'ring')}` })).toEqual([])
    }
  })

  it('a key file beside an unknown store is not read', () => {
    expect(texts({ store: 'mysql:' })).toEqual([])
  })
})

describe('a store', () => {
  it('a store may be an empty file, a database, in memory, or missing', () => {
    writeFileSync(join(folder, 'empty.db'), '')
    writeFileSync(join(folder, 'one.db'), 'SQLite format 3\0 and the rest of it')
    for (const name of ['empty.db', 'one.db', 'not/yet/server.db']) {
      expect(texts({ store: `sqlite:${join(folder, name)}` })).toEqual([])
    }
    expect(texts({ store: 'memory:' })).toEqual([])
  })

  it.each([
    ['', /is a folder, not a file\. Name a file in it: sqlite:.*server\.db$/],
    ['other', /other is not a SQLite database/],
    ['short', /short is not a SQLite database/],
    ['other/server.db', /cannot be made: .*other is not a folder/],
  ])('a store at %j is a fault', (name, fault) => {
    writeFileSync(join(folder, 'other'), 'something else that is long enough')
    writeFileSync(join(folder, 'short'), 'short')
    expect(texts({ store: `sqlite:${join(folder, name)}` })).toEqual([expect.stringMatching(fault)])
  })
})

it('the database of the embedded provider is checked together with the store beside it', () => {
  const store = `sqlite:${join(folder, 'server.db')}`
  writeFileSync(join(folder, 'provider.db'), 'something else that is long enough')
  expect(texts({ store })).toEqual([
    expect.stringMatching(/^store: .*provider\.db is not a SQLite database\. Move it away/),
  ])
  expect(texts({ store, provider: 'oidc', secretKeys: entry('a') })).toEqual([])
})

it('several faults of one file show the next step once', () => {
  writeFileSync(join(folder, 'clients.json'), '[{}, {}]')
  const [first, second, ...more] = texts({ clients: join(folder, 'clients.json') })
  expect(first).toMatch(/^clients: .*entry 1: client_id must be [^/]*\.$/)
  expect(second).toMatch(/^clients: .*entry 2: .* docs\/clients\.md says what it holds\.$/)
  expect(more).toEqual([])
})

it('a logo that is missing, too large or not an image is refused, with the next step', () => {
  const path = join(folder, 'logo')
  const said = (problem: string): unknown => [
    expect.stringMatching(
      new RegExp(
        `^appLogo: .*${problem} Name an SVG, PNG, JPEG or WebP image of at most 32 KB; an SVG needs its xmlns\\.$`,
      ),
    ),
  ]
  expect(texts({ appLogo: path })).toEqual(said('file not found: .*logo\\.'))
  expect(texts({ appLogo: folder })).toEqual(said('is a folder, not a file\\.'))
  writeFileSync(path, 'GIF89a')
  expect(texts({ appLogo: path })).toEqual(said('is not an SVG, PNG, JPEG or WebP image\\.'))
  writeFileSync(path, '<svg xmlns="http://www.w3.org/2000/svg"/>'.padEnd(32_769))
  expect(texts({ appLogo: path })).toEqual(said('has 32769 bytes; .* 32768 are the most\\.'))
  writeFileSync(path, '<svg xmlns="http://www.w3.org/2000/svg"/>')
  expect(texts({ appLogo: path })).toEqual([])
})

describe('the file of the admin token', () => {
  const token = 'a'.repeat(20) + '~!0123456789'
  const tokenFile = (text: string, mode = 0o600): Settings => {
    const path = join(folder, 'token')
    writeFileSync(path, text)
    chmodSync(path, mode)
    return { adminListen: '127.0.0.1:1', adminTokenFile: path }
  }

  it.each([token, `${token}\n`, `${token}\r\n`, token.repeat(20)])(
    'the file of the admin token may hold %j',
    (text) => {
      expect(texts(tokenFile(text))).toEqual([])
      expect(texts(tokenFile(text, 0o400))).toEqual([])
    },
  )

  it.each(['', token.slice(1), `${token}\n\n`, `${token}\n${token}`, `${token}\u00e9`])(
    'the file of the admin token that holds %j is a fault that does not repeat it',
    (text) => {
      const [fault, ...more] = texts(tokenFile(text))
      expect(fault).toMatch(/^adminTokenFile: .*token holds no token: expected one line.*node -p/)
      expect(fault).not.toMatch(/aaaa|0123/)
      expect(more).toEqual([])
    },
  )

  it.each([0o640, 0o604, 0o620])('the file of the admin token with the mode %o is a fault', (mode) => {
    expect(texts(tokenFile(token, mode))).toEqual([
      expect.stringMatching(/^adminTokenFile: .*token can be used by others than its owner\. chmod 600 /),
    ])
  })

  it('the file of the admin token is needed for ADMIN_LISTEN, and may be there without', () => {
    expect(texts({ adminListen: '127.0.0.1:1' })).toEqual([
      expect.stringMatching(/^adminTokenFile: needed for ADMIN_LISTEN\. .*node -p/),
    ])
    const { adminTokenFile = '' } = tokenFile(token)
    expect(texts({ adminTokenFile })).toEqual([])
    expect(texts({ adminTokenFile: join(folder, 'none') })).toEqual([
      expect.stringMatching(/^adminTokenFile: file not found: /),
    ])
    expect(texts({ adminTokenFile: folder })).toEqual([expect.stringMatching(/is a folder/)])
  })
})
