import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import type { CredentialStore } from '../../credentials/credential-store.ts'
import { ownProcessIdentity } from '../../credentials/lock/owner-process.ts'
import { systemRuntime } from '../../config/system-runtime.ts'
import { OAuthFailure, type SignInPrompt } from '../login-port.ts'
import { Login } from './login.ts'
import { loginConfig, loginCredential, loginPorts } from '../../../tests/support/bridge/oauth/login-parts.ts'
import { type OAuthServer, startOAuthServer } from '../../../tests/support/bridge/oauth/oauth-server.ts'
import { openFileStore, usualLoginId } from '../../../tests/support/bridge/credentials/usual-login.ts'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'

let home: string
let server: OAuthServer
let id: string
beforeEach(async () => {
  home = temporaryFolder()
  server = await startOAuthServer()
  id = usualLoginId(server.serverUrl)
})

/** A user who signs in when the test says so. */
interface Person {
  answer(): void
  refuse(error: Error): void
  asked: number
  wait(signal: AbortSignal): Promise<void>
}

function person(): Person {
  const made: Person = {
    answer: () => undefined,
    refuse: () => undefined,
    asked: 0,
    wait(signal) {
      made.asked += 1
      return new Promise((resolve, reject) => {
        made.answer = resolve
        made.refuse = reject
        signal.addEventListener('abort', () => reject(signal.reason as Error))
      })
    },
  }
  return made
}

const open = (): CredentialStore => openFileStore(home)

function login(who: Person, timeoutMs = 30_000): Login {
  const ports = loginPorts({ origin: server.origin, store: open(), person: who.wait })
  return new Login(loginConfig(server.origin, { signInTimeoutMs: timeoutMs }), ports)
}

/** Leaves the notice of a sign-in behind. */
function leaveNotice(store: CredentialStore, lease: string): Promise<void> {
  const prompt = { kind: 'browser', url: 'https://dead.test' }
  const text = JSON.stringify({ version: 1, lease, kind: 'prompt', prompt })
  return store.notices.post(`signin-${id}`, text)
}

const notice = (): string => join(home, 'credentials', 'notices', `signin-${id}.json`)
const faultOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'none',
    (error: unknown) => (error instanceof OAuthFailure ? error.fault : String(error)),
  )

it('a sign-in shows its link, stores the login and leaves no notice', async () => {
  const who = person()
  const one = login(who)
  const pending = one.signIn()
  expect(await pending.prompt).toEqual({ kind: 'browser', url: expect.stringContaining('/authorize') })
  expect(statSync(notice()).mode & 0o777).toBe(0o600)
  who.answer()
  await pending.done
  expect(existsSync(notice())).toBe(false)
  expect(await one.authorization()).toMatch(/^Bearer remote-secret-at-/)
  expect(await one.state()).toMatchObject({ state: 'signed_in', renews: true })
})

it('one process has one sign-in at a time', async () => {
  const who = person()
  const one = login(who)
  expect(one.signIn()).toBe(one.signIn())
  await one.signIn().prompt
  who.answer()
  await one.signIn().done
  expect(who.asked).toBe(1)
})

it('a cancelled sign-in ends at once, and can be started again', async () => {
  const who = person()
  const one = login(who)
  const first = one.signIn()
  await first.prompt
  first.cancel()
  expect(await faultOf(first.done)).toBe('cancelled')
  const second = one.signIn()
  expect(await second.prompt).not.toHaveProperty('followed')
  await expect.poll(() => who.asked).toBe(2)
  who.answer()
  await second.done
  expect(server.requests('/sign-in')).toHaveLength(1)
})

it('a sign-in cancelled at the end of the process leaves nothing behind', async () => {
  const slow = person()
  slow.wait = async (signal) => {
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    // As a listener that closes.
    await systemRuntime.sleep(100)
    signal.throwIfAborted()
  }
  const one = login(slow)
  const pending = one.signIn()
  await pending.prompt
  pending.cancel()
  await one.settle()
  expect(existsSync(notice())).toBe(false)
  expect(await faultOf(pending.prompt)).toBe('none')
})

it('a sign-in that fails while its link is written leaves the failure, not the link', async () => {
  const store = open()
  const { notices } = store
  const kinds: unknown[] = []
  const slow = {
    ...notices,
    read: notices.read.bind(notices),
    remove: notices.remove.bind(notices),
    async post(name: string, text: string) {
      const { kind } = JSON.parse(text) as { kind: string }
      if (kind === 'prompt') await systemRuntime.sleep(100)
      await notices.post(name, text)
      kinds.push(kind)
    },
  }
  const declined = new OAuthFailure('access_denied', 'The user declined.')
  const ports = loginPorts({
    origin: server.origin,
    store: Object.assign(Object.create(store) as CredentialStore, { notices: slow }),
    person: () => Promise.reject(declined),
  })
  const pending = new Login(loginConfig(server.origin), ports).signIn()
  expect(await faultOf(pending.done)).toBe('access_denied')
  expect(kinds).toEqual(['prompt', 'failed'])
  expect(readFileSync(notice(), 'utf8')).toContain('"kind":"failed"')
})

it('no sign-in is needed if another process has signed in since the refusal', async () => {
  const who = person()
  const one = login(who)
  await one.refused({ status: 401, used: undefined, challenges: [] })
  await open().write(id, loginCredential(server.origin, server.issue()))
  const pending = one.signIn()
  await pending.done
  expect(await faultOf(pending.prompt)).toBe('cancelled')
  expect(who.asked).toBe(0)
  expect(await one.authorization()).toMatch(/^Bearer remote-secret-at-/)
})

it('a sign-in that the user asks for is a new one', async () => {
  const before = loginCredential(server.origin, server.issue(), { generation: 7 })
  await open().write(id, before)
  const who = person()
  const pending = login(who).signIn()
  await pending.prompt
  who.answer()
  await pending.done
  const after = await open().read(id)
  expect(after).toMatchObject({ generation: 8 })
  expect(after?.signInId).not.toBe(before.signInId)
})

it('a sign-in replaces an unreadable login', async () => {
  await open().write(id, loginCredential(server.origin, server.issue()))
  writeFileSync(join(home, 'credentials', 'records', `${id}.json`), '{"v":9}')
  const who = person()
  const one = login(who)
  expect(await faultOf(one.authorization())).toContain('newer')
  const pending = one.signIn()
  await pending.prompt
  who.answer()
  await pending.done
  expect(await one.authorization()).toMatch(/^Bearer remote-secret-at-/)
})

it('a sign-in is not begun if its login could not be stored', async () => {
  await open().write(id, loginCredential(server.origin, server.issue()))
  rmSync(join(home, 'credentials', 'key'))
  const who = person()
  const pending = login(who).signIn()
  await expect(pending.done).rejects.toMatchObject({ fault: 'key_missing' })
  await expect(pending.prompt).rejects.toMatchObject({ fault: 'key_missing' })
  expect(who.asked).toBe(0)
})

describe('followers of a sign-in', () => {
  it('a follower shows the same link, and opens no tab', async () => {
    const [owner, follower] = [person(), person()]
    const first = login(owner).signIn()
    const prompt = await first.prompt
    const other = login(follower)
    const second = other.signIn()
    expect(await second.prompt).toEqual({ ...prompt, followed: true })
    owner.answer()
    await Promise.all([first.done, second.done])
    expect(follower.asked).toBe(0)
    expect(await other.authorization()).toMatch(/^Bearer remote-secret-at-/)
  })

  it.each(['access_denied', 'timeout', 'registration_refused'] as const)(
    'a follower fails with the sign-in that it follows: %s',
    async (fault) => {
      const [owner, follower] = [person(), person()]
      const first = login(owner).signIn()
      await first.prompt
      const second = login(follower).signIn()
      await second.prompt
      owner.refuse(new OAuthFailure(fault, 'Access was denied.'))
      expect(await faultOf(first.done)).toBe(fault)
      await expect(second.done).rejects.toMatchObject({ fault, message: 'Access was denied.' })
      expect(follower.asked).toBe(0)
      // The link belonged to the earlier sign-in, not to the next one.
      const third = login(follower).signIn()
      await third.prompt
      follower.answer()
      await third.done
    },
  )

  it('a follower continues with its own link when the other gives up, if a user is watching', async () => {
    const [owner, follower] = [person(), person()]
    const first = login(owner).signIn()
    await first.prompt
    const second = login(follower).signIn()
    const seen: SignInPrompt[] = []
    second.onPrompt?.((prompt) => seen.push(prompt))
    await second.prompt
    first.cancel()
    await expect.poll(() => seen.length).toBe(2)
    expect(seen.map(({ followed }) => followed)).toEqual([true, undefined])
    follower.answer()
    await second.done
    await first.done.catch(() => undefined)
  })

  it('a follower gives up too if no user would see its link', async () => {
    const [owner, follower] = [person(), person()]
    const first = login(owner).signIn()
    await first.prompt
    const second = login(follower).signIn()
    await second.prompt
    first.cancel()
    expect(await faultOf(second.done)).toBe('cancelled')
    expect(follower.asked).toBe(0)
    await first.done.catch(() => undefined)
  })

  it('a follower can give up alone', async () => {
    const owner = person()
    const first = login(owner).signIn()
    await first.prompt
    const second = login(person()).signIn()
    await second.prompt
    second.cancel()
    expect(await faultOf(second.done)).toBe('cancelled')
    owner.answer()
    await first.done
  })

  it('a follower ignores the link of a dead process, and makes its own', async () => {
    const store = open()
    await store.exclusively(`signin-${id}`, { waitMs: 0 }, async () => undefined)
    const gone = String(ownProcessIdentity()).replace(/\d+$/, '1')
    const lock = join(home, 'credentials', 'locks', `signin-${id}.9`)
    writeFileSync(lock, JSON.stringify({ lease: 'left', process: gone }))
    await leaveNotice(store, 'left')
    const who = person()
    const pending = login(who).signIn()
    const seen: SignInPrompt[] = []
    pending.onPrompt?.((prompt) => seen.push(prompt))
    await pending.prompt
    who.answer()
    await pending.done
    expect(seen).toEqual([{ kind: 'browser', url: expect.stringContaining('/authorize') }])
  })

  it('a follower ignores the link of an earlier owner while the next one prepares its own', async () => {
    const store = open()
    const second = await store.exclusively(`signin-${id}`, { waitMs: 0 }, async () => {
      await leaveNotice(store, 'earlier')
      const following = login(person()).signIn()
      const prompted = following.prompt.then(() => 'prompted')
      expect(await Promise.race([prompted, systemRuntime.sleep(600)])).toBeUndefined()
      return following
    })
    expect(await second.prompt).toEqual({ kind: 'browser', url: expect.stringContaining('/authorize') })
    second.cancel()
    await second.done.catch(() => undefined)
  })

  it.each<[what: string, spoil: (text: string) => string]>([
    ['that it cannot read', () => 'x'],
    ['of a later version', (text) => text.replace('"version":1', '"version":2')],
  ])('a follower ignores a notice %s', async (_what, spoil) => {
    const owner = person()
    const first = login(owner).signIn()
    await first.prompt
    writeFileSync(notice(), spoil(readFileSync(notice(), 'utf8')), { mode: 0o600 })
    const other = person()
    const second = login(other).signIn()
    const seen: SignInPrompt[] = []
    second.onPrompt?.((prompt) => seen.push(prompt))
    await systemRuntime.sleep(600)
    expect(seen).toEqual([])
    owner.answer()
    // A sign-in that starts after the first has ended asks its own user.
    second.prompt.then(() => other.answer()).catch(() => undefined)
    await Promise.all([first.done, second.done])
  })
})
