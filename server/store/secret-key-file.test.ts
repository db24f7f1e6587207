import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { parseSecretKeys } from '../config/store-address.ts'
import { createSealer, type KeyRing, type Sealer, type SealingKey, sealingKeyOf } from '../core/seal.ts'
import { createFakeRuntime, type FakeRuntime } from '../../tests/support/server/fake-runtime.ts'
import { temporaryFolder } from '../../tests/support/temporary-folder.ts'
import { createKeyFile, openKeyFile } from './secret-key-file.ts'

let folder: string
beforeEach(() => {
  folder = temporaryFolder()
})

const never = (): string => {
  throw new Error('The file was there.')
}

describe('createKeyFile', () => {
  it('createKeyFile makes the file once, for its owner only, with the folders to it', () => {
    const path = join(folder, 'new', 'secret-keys')
    createKeyFile(path, () => 'kid:text')
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(statSync(join(folder, 'new')).mode & 0o777).toBe(0o700)
    createKeyFile(path, never)
    expect(readFileSync(path, 'utf8')).toBe('kid:text\n')
    expect(readdirSync(join(folder, 'new'))).toEqual(['secret-keys'])
  })

  it('createKeyFile leaves the key of the server that was first, when two start at once', () => {
    const path = join(folder, 'secret-keys')
    createKeyFile(path, () => {
      createKeyFile(path, () => 'kid:inner')
      return 'kid:outer'
    })
    expect(readFileSync(path, 'utf8')).toBe('kid:inner\n')
    expect(readdirSync(folder)).toEqual(['secret-keys'])
  })

  it('createKeyFile leaves no empty file if the process dies while it makes the text', () => {
    const path = join(folder, 'secret-keys')
    expect(() =>
      createKeyFile(path, () => {
        throw new Error('died')
      }),
    ).toThrow('died')
    createKeyFile(path, () => 'kid:text')
    expect(readFileSync(path, 'utf8')).toBe('kid:text\n')
  })

  it('createKeyFile leaves a file that this user may not read', () => {
    const path = join(folder, 'secret-keys')
    writeFileSync(path, 'kid:text')
    chmodSync(path, 0)
    createKeyFile(path, never)
    chmodSync(path, 0o600)
    expect(readFileSync(path, 'utf8')).toBe('kid:text')
  })

  it('createKeyFile fails where a file is in the place of the folder', () => {
    writeFileSync(join(folder, 'file'), '')
    expect(() => createKeyFile(join(folder, 'file', 'secret-keys'), () => 'kid:text')).toThrow(
      /EEXIST|ENOTDIR/,
    )
  })
})

describe('openKeyFile', () => {
  const parse = (text: string): SealingKey[] =>
    text.split(',').map((kid) => {
      if (!/^\w+$/.test(kid)) throw new TypeError('expected words')
      return { kid, key: new Uint8Array(32) }
    })

  function open(path: string): { kids: () => string; ring: KeyRing; runtime: FakeRuntime; events: string[] } {
    const runtime = createFakeRuntime()
    const events: string[] = []
    const report = (event: string, fields: object): void =>
      void events.push(`${event} ${JSON.stringify(fields)}`)
    const ring = openKeyFile(path, { parse, now: runtime.now, report })
    const kids = (): string =>
      ring
        .keys()
        .map(({ kid }) => kid)
        .join(' ')
    return { kids, ring, runtime, events }
  }

  function write(text: string): string {
    const path = join(folder, 'ring')
    writeFileSync(path, text)
    return path
  }

  it.each(['one,two', 'one\ntwo\n', '\r\n one , \r\n\r\ntwo\r\n'])('openKeyFile reads %j', (text) => {
    expect(open(write(text)).kids()).toBe('one two')
  })

  it('openKeyFile fails for a file that is missing, a folder or no ring', () => {
    expect(() => open(join(folder, 'none'))).toThrow(expect.objectContaining({ code: 'ENOENT' }))
    expect(() => open(folder)).toThrow(expect.objectContaining({ code: 'EISDIR' }))
    expect(() => open(write('- -'))).toThrow('expected words')
    expect(() => open(write(''))).toThrow('expected words')
  })

  it('a changed file is noticed by use, not before the second is over', () => {
    const path = write('one')
    const { kids, runtime, events } = open(path)
    write('two,one')
    expect(kids()).toBe('one')
    runtime.advance(1)
    expect(kids()).toBe('two one')
    expect(events).toEqual(['key_ring_changed {"kids":["two","one"]}'])
  })

  it('a file put in the place of the old one is noticed even with the same size and time', () => {
    const path = write('one')
    const { kids, ring } = open(path)
    const { atime, mtime } = statSync(path)
    writeFileSync(`${path}.next`, 'two')
    utimesSync(`${path}.next`, atime, mtime)
    renameSync(`${path}.next`, path)
    ring.refresh()
    expect(kids()).toBe('two')
  })

  it.each<[string, (path: string) => void]>([
    ['missing', (path) => rmSync(path)],
    ['empty', (path) => writeFileSync(path, '')],
    ['broken', (path) => writeFileSync(path, 'secret material')],
    ['a folder', (path) => [rmSync(path), mkdirSync(path)]],
  ])('while the file is %s the last ring stays in force, is told once, and a new one is found', (_, harm) => {
    const path = write('one')
    const { kids, ring, events } = open(path)
    harm(path)
    for (const _ of [1, 2, 3]) ring.refresh()
    expect(kids()).toBe('one')
    expect(events).toHaveLength(1)
    expect(events[0]).toMatch(/^key_file_unusable /)
    expect(events[0]).not.toContain('secret material')
    rmSync(path, { recursive: true, force: true })
    write('two')
    ring.refresh()
    expect(kids()).toBe('two')
  })

  it('a changed file that the system does not let the server read for a moment is told once, and read later', () => {
    const path = write('one')
    let isHeld = false
    const events: string[] = []
    const ring = openKeyFile(path, {
      // As the system answers where another program has a file open: here the file is one that is not there.
      parse: (text) => parse(isHeld ? readFileSync(`${path}.held`, 'utf8') : text),
      now: createFakeRuntime().now,
      report: (event) => void events.push(event),
    })
    isHeld = true
    write('two')
    for (const _ of [1, 2, 3]) ring.refresh()
    isHeld = false
    for (const _ of [1, 2]) ring.refresh()
    expect(ring.keys().map(({ kid }) => kid)).toEqual(['two'])
    expect(events).toEqual(['key_file_unusable', 'key_ring_changed'])
  })

  it('a sealer opens what another process seals with a key that was just added', () => {
    const key = (kid: string): string => `${kid}:${Buffer.alloc(32, kid).toString('base64')}`
    const path = write(key('one'))
    const runtime = createFakeRuntime()
    const openSealer = (): Sealer =>
      createSealer(openKeyFile(path, { parse: parseSecretKeys, now: runtime.now }), runtime.randomBytes)
    const [server, command] = [openSealer(), openSealer()]
    const before = server.seal('text', 'context')
    write(`${key('two')}\n${key('one')}`)
    runtime.advance(1)
    const after = command.seal('text', 'context')
    expect(sealingKeyOf(after)).toBe('two')
    expect([server.open(after, 'context'), server.open(before, 'context')]).toEqual(['text', 'text'])
    expect(sealingKeyOf(server.seal('text', 'context'))).toBe('two')
  })
})
