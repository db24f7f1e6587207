import fs, {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { systemRuntime } from '../../config/system-runtime.ts'
import { CredentialError } from '../credential-store.ts'
import { createFileLock, type FileLock } from './file-lock.ts'
import { createPrivateFolder } from '../files/private-folder.ts'
import { sampleCredential } from '../../../tests/support/bridge/credentials/sample-credential.ts'
import {
  type StoreChild,
  startStoreChild,
} from '../../../tests/support/bridge/credentials/start-store-child.ts'

const endings: (() => void)[] = []
afterAll(() => {
  for (const end of endings) end()
})

interface Place {
  home: string
  lock: FileLock
  /** Another one of the same folder. */
  another(): FileLock
  /** Another one, whose waits are these. */
  withSleep(sleep: (ms: number) => Promise<void>): FileLock
  path(name: string): string
  child(): Promise<StoreChild>
}

const locksOf = (home: string): string => join(home, 'credentials', 'locks')

/** A home of its own for each test, as some run at the same time. */
function place(): Place {
  const home = mkdtempSync(join(tmpdir(), 'drawbridge-lock-'))
  endings.push(() => rmSync(home, { recursive: true, force: true }))
  const folder = join(home, 'credentials')
  const withSleep: Place['withSleep'] = (sleep) =>
    createFileLock(
      createPrivateFolder(folder, 'locks', () => undefined),
      { ...systemRuntime, sleep },
    )
  const another = (): FileLock => withSleep(systemRuntime.sleep)
  return {
    home,
    lock: another(),
    another,
    withSleep,
    path: (name) => join(folder, 'locks', `${name}.lock`),
    async child() {
      const started = startStoreChild()
      endings.unshift(() => started.kill())
      const config = { home, backend: 'file' as const, keyFile: undefined, keychainTimeoutMs: 2500 }
      await started.ask({ do: 'open', config })
      return started
    },
  }
}

const elapsed = async (work: Promise<unknown>): Promise<number> => {
  const startedAt = performance.now()
  await work
  return performance.now() - startedAt
}

/**
 * Removes `folder` once, as another process could: right after the system has made it, or right before its time is set or
 * read. Returns how often it did. Restored when the test ends.
 */
function removeDuring(step: 'mkdir' | 'utimes' | 'stat', folder: string): () => number {
  const system = fs[step] as (...args: unknown[]) => void
  let removals = 0
  const remove = (): void => {
    rmdirSync(folder)
    removals += 1
  }
  const replaced = vi.spyOn(fs, step).mockImplementationOnce((...args: unknown[]) => {
    if (step !== 'mkdir') {
      remove()
      return system(...args)
    }
    const done = args.pop() as (error: Error | null) => void
    return system(...args, (error: Error | null) => {
      remove()
      done(error)
    })
  })
  // What is imported by name follows only then.
  syncBuiltinESMExports()
  onTestFinished(() => {
    replaced.mockRestore()
    syncBuiltinESMExports()
  })
  return () => removals
}

describe('a lock', () => {
  it('lets one at a time in, within a process too', async () => {
    const { home, lock, another } = place()
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
    expect(readdirSync(join(home, 'credentials', 'locks'))).toEqual([])
  })

  it('of another name does not matter', async () => {
    const { lock } = place()
    const answer = await lock('a', { waitMs: 0 }, () => lock('b', { waitMs: 0 }, async () => 'both'))
    expect(answer).toBe('both')
  })

  it('is given back when the work fails', async () => {
    const { lock } = place()
    const failing = lock('a', { waitMs: 0 }, () => Promise.reject(new Error('no')))
    await expect(failing).rejects.toThrow('no')
    expect(await lock('a', { waitMs: 0 }, async () => 1)).toBe(1)
  })

  it('is busy for who has waited long enough', async () => {
    const { lock, another } = place()
    await lock('a', { waitMs: 0 }, async () => {
      for (const other of [lock, another()]) {
        const waiting = other('a', { waitMs: 120 }, async () => 1)
        await expect(waiting).rejects.toMatchObject({ name: 'CredentialError', fault: 'busy' })
      }
    })
  })

  it('is not needed by who gets the answer otherwise', async () => {
    const { lock, another } = place()
    let asked = 0
    await lock('a', { waitMs: 0 }, async () => {
      const instead = async (): Promise<number | undefined> => (++asked < 4 ? undefined : 42)
      expect(await another()('a', { waitMs: 10_000, instead }, async () => 1)).toBe(42)
    })
    expect(asked).toBe(4)
  })

  it('is not waited for any more when the other way fails', async () => {
    const { lock } = place()
    await lock('a', { waitMs: 0 }, async () => {
      const instead = (): Promise<undefined> => Promise.reject(new Error('gave up'))
      await expect(lock('a', { waitMs: 10_000, instead }, async () => undefined)).rejects.toThrow('gave up')
    })
  })

  it('is not given back when it has become the lock of somebody else', async () => {
    const { lock, path } = place()
    await lock('a', { waitMs: 0 }, async (lease) => {
      rmdirSync(path('a'))
      mkdirSync(path('a'))
      expect(lease.isHeld()).toBe(false)
    })
    expect(existsSync(path('a'))).toBe(true)
  })

  it('is not held by who has broken it just before somebody else did', async () => {
    const { lock, path, withSleep } = place()
    await lock('a', { waitMs: 0 }, async () => undefined)
    mkdirSync(path('a'))
    utimesSync(path('a'), 1_700_000_000, 1_700_000_000)
    let isBroken = false
    const slower = withSleep(async (ms) => {
      if (!isBroken && ms === 100) {
        isBroken = true
        rmdirSync(path('a'))
        mkdirSync(path('a'))
      }
      await systemRuntime.sleep(ms)
    })
    const waiting = slower('a', { waitMs: 4000 }, async () => 1)
    await expect(waiting).rejects.toMatchObject({ fault: 'busy' })
    expect(isBroken).toBe(true)
    expect(existsSync(path('a'))).toBe(true)
  })

  it.each(['mkdir', 'utimes', 'stat'] as const)(
    'is had at the next try when another process removes it during its %s',
    async (step) => {
      const { lock, path } = place()
      await lock('a', { waitMs: 0 }, async () => undefined)
      const removals = removeDuring(step, path('a'))
      expect(await lock('a', { waitMs: 4000 }, async (lease) => lease.isHeld())).toBe(true)
      expect(removals()).toBe(1)
      expect(existsSync(path('a'))).toBe(false)
    },
  )

  it('cannot be had in a folder that cannot be written', async () => {
    const folder = createPrivateFolder('/proc/drawbridge', 'locks', () => undefined)
    const taken = createFileLock(folder, systemRuntime)('a', { waitMs: 0 }, async () => 1)
    await expect(taken).rejects.toMatchObject({ fault: 'not_writable' })
  })
})

describe('locks of several processes', () => {
  it('lose no update', async () => {
    const { child } = place()
    const id = 'a'.repeat(64)
    const children = await Promise.all([child(), child(), child(), child()])
    await children[0]?.ask({ do: 'write', id, credential: sampleCredential({ generation: 0 }) })
    const answers = await Promise.all(children.map((each) => each.ask({ do: 'increment', id, times: 15 })))
    expect(answers.map(({ message }) => message)).toEqual(children.map(() => undefined))
    const stored = await children[0]?.ask({ do: 'read', id })
    expect(stored?.value).toMatchObject({ generation: 60 })
  })

  it('are given back at once by who ends', async () => {
    const { lock, path, child } = place()
    const other = await child()
    await other.ask({ do: 'hold', name: 'a', waitMs: 0 })
    expect(existsSync(path('a'))).toBe(true)
    void other.stop()
    expect(await elapsed(lock('a', { waitMs: 10_000 }, async () => 1))).toBeLessThan(3000)
  })
})

describe('a lock whose holder is gone', { concurrent: true }, () => {
  it('is taken over before it is stale, as its process is not there any more', async () => {
    const { lock, child, path, home } = place()
    const killed = await child()
    await killed.ask({ do: 'hold', name: 'killed', waitMs: 0 })
    killed.kill()
    await killed.gone
    utimesSync(path('killed'), new Date(), new Date())
    const answer = await lock('killed', { waitMs: 1500 }, async () => readdirSync(locksOf(home)).sort())
    expect(answer).toEqual(['killed.holder', 'killed.lock'])
    expect(readdirSync(locksOf(home))).toEqual([])
  })

  it.each<[what: string, spoil: (holder: string) => void]>([
    ['nobody has written down who it is', (holder) => rmSync(holder)],
    ['that is damaged', (holder) => writeFileSync(holder, '{"lease":')],
    [
      'it is in another container',
      (holder) => writeFileSync(holder, readFileSync(holder, 'utf8').replace('"process":"', '"process":"x')),
    ],
    [
      'it says so of an earlier lock',
      (holder) => writeFileSync(holder, readFileSync(holder, 'utf8').replace('"lease":"', '"lease":"1')),
    ],
  ])('is taken over after some seconds when %s', async (_what, spoil) => {
    const { lock, child, path } = place()
    const killed = await child()
    await killed.ask({ do: 'hold', name: 'killed', waitMs: 0 })
    killed.kill()
    await killed.gone
    spoil(path('killed').replace(/lock$/, 'holder'))
    await expect(lock('killed', { waitMs: 1500 }, async () => 1)).rejects.toMatchObject({ fault: 'busy' })
    expect(await lock('killed', { waitMs: 15_000 }, async () => 1)).toBe(1)
  })

  it('is taken over by one of all who wait for it', async () => {
    const { lock, path, child } = place()
    await lock('stale', { waitMs: 0 }, async () => undefined)
    const children = await Promise.all([child(), child(), child(), child()])
    mkdirSync(path('stale'))
    utimesSync(path('stale'), 1_700_000_000, 1_700_000_000)
    const answers = await Promise.all(
      children.map((each) => each.ask({ do: 'hold', name: 'stale', waitMs: 10_000 })),
    )
    expect(answers.filter(({ value }) => value === true)).toHaveLength(1)
    expect(answers.filter(({ fault }) => fault === 'busy')).toHaveLength(3)
  })

  it('is broken by one of all who find it at once, round after round', { timeout: 60_000 }, async () => {
    const { home, path, child } = place()
    const gone = await child()
    await gone.ask({ do: 'hold', name: 'found', waitMs: 0 })
    const holder = path('found').replace(/lock$/, 'holder')
    const { process } = JSON.parse(readFileSync(holder, 'utf8')) as { process: string }
    gone.kill()
    await gone.gone
    rmdirSync(path('found'))
    const children = await Promise.all([child(), child(), child(), child()])
    for (let round = 0; round < 30; round++) {
      mkdirSync(path('found'))
      const { ino, birthtimeNs } = lstatSync(path('found'), { bigint: true })
      writeFileSync(holder, JSON.stringify({ lease: `${ino}-${birthtimeNs}`, process }))
      const answers = await Promise.all(
        children.map((each) => each.ask({ do: 'hold', name: 'found', waitMs: 300 })),
      )
      expect(
        answers.filter(({ fault }) => fault === 'busy'),
        `round ${round}`,
      ).toHaveLength(3)
      await children[answers.findIndex(({ value }) => value === true)]?.ask({ do: 'release' })
      await vi.waitFor(() => expect(readdirSync(locksOf(home))).toEqual([]), { timeout: 5000 })
    }
  })

  it('is taken over although who was to break it was killed right then', async () => {
    const { lock, path, home } = place()
    await lock('stale', { waitMs: 0 }, async () => undefined)
    for (const folder of [path('stale'), `${path('stale')}.breaking`]) {
      mkdirSync(folder)
      utimesSync(folder, 1_700_000_000, 1_700_000_000)
    }
    expect(await lock('stale', { waitMs: 10_000 }, async () => 1)).toBe(1)
    expect(readdirSync(locksOf(home))).toEqual([])
  })

  it('is taken over although its time lies ahead: the clock went back', async () => {
    const { lock, path } = place()
    await lock('future', { waitMs: 0 }, async () => undefined)
    mkdirSync(path('future'))
    const ahead = Date.now() / 1000 + 7200
    utimesSync(path('future'), ahead, ahead)
    expect(await elapsed(lock('future', { waitMs: 15_000 }, async () => 1))).toBeLessThan(11_000)
  })

  it('is not given back by a holder that comes to itself after it was taken over', async () => {
    const { lock, path, child } = place()
    const asleep = await child()
    await asleep.ask({ do: 'hold', name: 'asleep', waitMs: 0 })
    expect(await asleep.ask({ do: 'isHeld' })).toMatchObject({ value: expect.any(String) })
    asleep.kill('SIGSTOP')
    await lock('asleep', { waitMs: 15_000 }, async (lease) => {
      asleep.kill('SIGCONT')
      expect((await asleep.ask({ do: 'isHeld' })).value).toBeUndefined()
      await asleep.ask({ do: 'release' })
      await asleep.stop()
      expect(lease.isHeld()).toBe(true)
    })
    expect(existsSync(path('asleep'))).toBe(false)
  })
})

describe('a lock whose holder lives', () => {
  it('is told to be held to those who wait, by its process', async () => {
    const { lock, child } = place()
    const holder = await child()
    await holder.ask({ do: 'hold', name: 'a', waitMs: 0 })
    const told: (string | undefined)[] = []
    const instead = async (heldBy: string | undefined): Promise<number | undefined> => {
      told.push(heldBy)
      return told.length < 4 ? undefined : 1
    }
    await lock('a', { waitMs: 10_000, instead }, async () => 0)
    const lease = await holder.ask({ do: 'isHeld' })
    expect(told).toEqual([undefined, lease.value, lease.value, lease.value])
    holder.kill()
    await holder.gone
    expect(told.push(await lock('a', { waitMs: 5000 }, async ({ id }) => id))).toBe(5)
    expect(new Set(told).size).toBe(3)
  })

  it('and is of another container is known by its touch', async () => {
    const { lock, child, path } = place()
    const holder = await child()
    await holder.ask({ do: 'hold', name: 'a', waitMs: 0 })
    rmSync(path('a').replace(/lock$/, 'holder'))
    const told: (string | undefined)[] = []
    const instead = async (heldBy: string | undefined): Promise<number | undefined> => {
      told.push(heldBy)
      return heldBy === undefined ? undefined : 1
    }
    expect(await lock('a', { waitMs: 10_000, instead }, async () => 0)).toBe(1)
    expect(told.length).toBeGreaterThan(3)
  })

  it('is left alone although it looks stale: the clock went on', async () => {
    const { lock, child } = place()
    const holder = await child()
    await holder.ask({ do: 'hold', name: 'a', waitMs: 0 })
    const real = Date.now
    vi.spyOn(Date, 'now').mockImplementation(() => real() + 7_200_000)
    onTestFinished(() => void vi.restoreAllMocks())
    const waiting = lock('a', { waitMs: 5000 }, async () => 1)
    await expect(waiting).rejects.toBeInstanceOf(CredentialError)
    expect(await holder.ask({ do: 'isHeld' })).toMatchObject({ value: expect.any(String) })
  })
})
