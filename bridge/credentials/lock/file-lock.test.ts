import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { systemRuntime } from '../../config/system-runtime.ts'
import type { CredentialStore } from '../credential-store.ts'
import { createFileLock } from './file-lock.ts'
import { createPrivateFolder } from '../private-folder.ts'
import { sampleCredential } from '../../../tests/support/bridge/credentials/sample-credential.ts'
import {
  type StoreChild,
  startStoreChild,
} from '../../../tests/support/bridge/credentials/start-store-child.ts'

type FileLock = CredentialStore['exclusively']

const endings: (() => void)[] = []
afterAll(() => {
  for (const end of endings) end()
})

interface Place {
  lock: FileLock
  /** Creates another lock on the same folder. */
  another(): FileLock
  /** Path of a file in the folder of locks. */
  path(name: string): string
  names(): string[]
  child(): Promise<StoreChild>
  /** Takes the lock `a` in another process, and ends that one with `kill -9`. */
  killed(): Promise<void>
}

/** Creates a separate folder for each test, as some run at the same time. */
function place(): Place {
  const home = mkdtempSync(join(tmpdir(), 'drawbridge-lock-'))
  endings.push(() => rmSync(home, { recursive: true, force: true }))
  const folder = join(home, 'credentials')
  const another = (): FileLock =>
    createFileLock(
      createPrivateFolder(folder, 'locks', () => undefined),
      systemRuntime,
    )
  const child = async (): Promise<StoreChild> => {
    const started = startStoreChild()
    endings.unshift(() => started.kill())
    await started.ask({ do: 'open', config: { home, backend: 'file', keychainTimeoutMs: 2500 } })
    return started
  }
  return {
    lock: another(),
    another,
    path: (name) => join(folder, 'locks', name),
    names: () => readdirSync(join(folder, 'locks')).sort(),
    child,
    async killed() {
      const owner = await child()
      await owner.ask({ do: 'hold', name: 'a', waitMs: 0 })
      owner.kill()
      await owner.gone
    },
  }
}

const elapsed = async (work: Promise<unknown>): Promise<number> => {
  const startedAt = performance.now()
  await work
  return performance.now() - startedAt
}

it('a lock admits one holder at a time, within a process too', async () => {
  const { lock, another, names } = place()
  let inside = 0
  let most = 0
  const work = async (): Promise<void> => {
    inside += 1
    most = Math.max(most, inside)
    await systemRuntime.sleep(5)
    inside -= 1
  }
  const locks = [lock, lock, lock, another()]
  await Promise.all(locks.map((each) => each('a', { waitMs: 10_000 }, work)))
  expect(most).toBe(1)
  expect(names()).toEqual(['a.4'])
})

it('a lock of another name is independent', async () => {
  const { lock } = place()
  const answer = await lock('a', { waitMs: 0 }, () => lock('a.b', { waitMs: 0 }, async () => 'both'))
  expect(answer).toBe('both')
})

it('a lock is released when the work fails', async () => {
  const { lock } = place()
  const failing = lock('a', { waitMs: 0 }, () => Promise.reject(new Error('no')))
  await expect(failing).rejects.toThrow('no')
  expect(await lock('a', { waitMs: 0 }, async () => 1)).toBe(1)
})

it('a lock that stays held is reported as busy after the wait', async () => {
  const { lock, another } = place()
  await lock('a', { waitMs: 0 }, async () => {
    for (const other of [lock, another()]) {
      const waiting = other('a', { waitMs: 120 }, async () => 1)
      await expect(waiting).rejects.toMatchObject({ name: 'CredentialError', fault: 'busy' })
    }
  })
})

it('waiting for a lock ends when the caller has an answer or cancels', async () => {
  const { lock, another } = place()
  let asked = 0
  await lock('a', { waitMs: 0 }, async () => {
    const instead = async (): Promise<number | undefined> => (++asked < 4 ? undefined : 42)
    expect(await another()('a', { waitMs: 10_000, instead }, async () => 1)).toBe(42)
    const failing = (): Promise<undefined> => Promise.reject(new Error('gave up'))
    const waiting = lock('a', { waitMs: 10_000, instead: failing }, async () => undefined)
    await expect(waiting).rejects.toThrow('gave up')
  })
  expect(asked).toBe(4)
})

it('a lock is not taken with a number below the current one', async () => {
  const { lock, path, names } = place()
  await lock('a', { waitMs: 0 }, async () => undefined)
  writeFileSync(path('a.3'), 'free')
  // As seen by a process that looked before, and was suspended since.
  const parse = vi.spyOn(Math, 'max').mockReturnValueOnce(1)
  onTestFinished(() => parse.mockRestore())
  const taken = lock('a', { waitMs: 0 }, async () => names())
  await expect(taken).rejects.toMatchObject({ fault: 'busy' })
  expect(names()).toEqual(['a.1', 'a.3'])
  expect(await lock('a', { waitMs: 0 }, async () => names())).toEqual(['a.4'])
})

it('a lock is taken although the file of an old one cannot be removed', async () => {
  const { lock, path, names } = place()
  await lock('a', { waitMs: 0 }, async () => undefined)
  // What cannot be removed on every system, as a file on Windows that another program has open.
  mkdirSync(path('a.0'))
  expect(await lock('a', { waitMs: 0 }, async () => names())).toEqual(['a.0', 'a.2'])
  expect(await lock('a', { waitMs: 0 }, async () => names())).toEqual(['a.0', 'a.3'])
  rmdirSync(path('a.0'))
})

it('a lock fails in a folder that cannot be written', async () => {
  const folder = createPrivateFolder('/proc/drawbridge', 'locks', () => undefined)
  const taken = createFileLock(folder, systemRuntime)('a', { waitMs: 0 }, async () => 1)
  await expect(taken).rejects.toMatchObject({ fault: 'not_writable' })
})

describe('locks of several processes', () => {
  it('locks of several processes lose no update', async () => {
    const { child } = place()
    const id = 'a'.repeat(64)
    const children = await Promise.all([child(), child(), child(), child()])
    await children[0]?.ask({ do: 'write', id, credential: sampleCredential({ generation: 0 }) })
    const answers = await Promise.all(children.map((each) => each.ask({ do: 'increment', id, times: 15 })))
    expect(answers.map(({ message }) => message)).toEqual(children.map(() => undefined))
    const stored = await children[0]?.ask({ do: 'read', id })
    expect(stored?.value).toMatchObject({ generation: 60 })
  })

  it('a lock is free at once when its process has ended', async () => {
    const { lock, child } = place()
    const other = await child()
    await other.ask({ do: 'hold', name: 'a', waitMs: 0 })
    void other.stop()
    expect(await elapsed(lock('a', { waitMs: 10_000 }, async () => 1))).toBeLessThan(3000)
  })
})

describe('a lock whose owner is gone', { concurrent: true }, () => {
  it('a lock of a dead process is taken over at once, although just touched', async () => {
    const { lock, killed, path, names } = place()
    await killed()
    utimesSync(path('a.1'), new Date(), new Date())
    expect(await lock('a', { waitMs: 1500 }, async () => names())).toEqual(['a.2'])
  })

  it.each<[what: string, spoil: (text: string) => string]>([
    ['no owner is recorded', () => ''],
    ['that is damaged', () => '{"lease":'],
    ['it is in another container', (text) => text.replace('"process":"', '"process":"x')],
  ])('a lock is taken over after some seconds when %s', async (_what, spoil) => {
    const { lock, killed, path } = place()
    await killed()
    writeFileSync(path('a.1'), spoil(readFileSync(path('a.1'), 'utf8')))
    // Its time does not matter: the clock may have changed.
    const ahead = Date.now() / 1000 + 7200
    utimesSync(path('a.1'), ahead, ahead)
    await expect(lock('a', { waitMs: 1500 }, async () => 1)).rejects.toMatchObject({ fault: 'busy' })
    expect(await lock('a', { waitMs: 15_000 }, async () => 1)).toBe(1)
  })

  it('an abandoned lock is taken over by one of many processes', { timeout: 60_000 }, async () => {
    const { killed, path, child, names } = place()
    await killed()
    const owner = readFileSync(path('a.1'), 'utf8')
    const children = await Promise.all([child(), child(), child(), child()])
    for (let number = 1; number < 60; number += 2) {
      writeFileSync(path(`a.${number}`), owner)
      const answers = await Promise.all(
        children.map((each) => each.ask({ do: 'hold', name: 'a', waitMs: 300 })),
      )
      expect(
        answers.filter(({ fault }) => fault === 'busy'),
        `lock ${number}`,
      ).toHaveLength(3)
      await children[answers.findIndex(({ value }) => value === true)]?.ask({ do: 'release' })
      await vi.waitFor(() => expect(readFileSync(path(`a.${number + 1}`), 'utf8')).toBe('free'))
      expect(names()).toEqual([`a.${number + 1}`])
    }
  })

  it('a suspended owner does not release a lock that was taken over', async () => {
    const { lock, names, path, child } = place()
    const asleep = await child()
    await asleep.ask({ do: 'hold', name: 'a', waitMs: 0 })
    asleep.kill('SIGSTOP')
    await lock('a', { waitMs: 15_000 }, async (lease) => {
      asleep.kill('SIGCONT')
      await asleep.ask({ do: 'release' })
      await asleep.stop()
      expect(names()).toEqual(['a.2'])
      expect(readFileSync(path('a.2'), 'utf8')).toContain(lease)
    })
  })
})

describe('a lock whose owner lives', () => {
  const hold = async (owner: StoreChild): Promise<void> => {
    await owner.ask({ do: 'hold', name: 'a', waitMs: 0 })
  }

  it('a held lock is reported with its lease to waiting callers', async () => {
    const { lock, child } = place()
    const owner = await child()
    await hold(owner)
    const seen: (string | undefined)[] = []
    const instead = async (heldBy: string | undefined): Promise<number | undefined> => {
      seen.push(heldBy)
      return seen.length < 4 ? undefined : 1
    }
    await lock('a', { waitMs: 10_000, instead }, async () => 0)
    const { value } = await owner.ask({ do: 'lease' })
    expect(seen).toEqual([undefined, value, value, value])
    owner.kill()
    await owner.gone
    expect([undefined, value]).not.toContain(await lock('a', { waitMs: 5000 }, async (lease) => lease))
  })

  it('a lock of another container is kept alive by its touch', async () => {
    const { lock, child, path } = place()
    const owner = await child()
    await hold(owner)
    const text = readFileSync(path('a.1'), 'utf8')
    writeFileSync(path('a.1'), text.replace('"process":"', '"process":"x'))
    const instead = async (heldBy: string | undefined): Promise<string | undefined> => heldBy
    const { value } = await owner.ask({ do: 'lease' })
    expect(await lock('a', { waitMs: 10_000, instead }, async () => 'taken')).toBe(value)
  })

  it('a held lock that looks old after a clock change is left alone', async () => {
    const { lock, child } = place()
    await hold(await child())
    const real = Date.now
    vi.spyOn(Date, 'now').mockImplementation(() => real() + 7_200_000)
    onTestFinished(() => void vi.restoreAllMocks())
    const waiting = lock('a', { waitMs: 7000 }, async () => 1)
    await expect(waiting).rejects.toMatchObject({ fault: 'busy' })
  })
})
