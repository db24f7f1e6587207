import { beforeEach, describe, expect, it } from 'vitest'
import { createMemoryStore } from '../store/memory.ts'
import { createFakeRuntime, type FakeRuntime } from '../testing/fake-runtime.ts'
import { race, start } from '../testing/grant-sample.ts'
import { authorizationRequest, signInSample } from '../testing/sign-in-sample.ts'
import { createSealer, hashSecret } from './seal.ts'
import { ProviderError, type ProviderFailure, type SessionProvider } from './session-provider.ts'
import {
  createBrowserBinding,
  finishSocialSignIn,
  openTransaction,
  sealTransaction,
  type SignInPorts,
  startSocialSignIn,
} from './sign-in.ts'
import type { Store } from './store.ts'

let runtime: FakeRuntime
let store: Store
let ports: SignInPorts
/** Secrets that were presented with a code, in order. */
let tried: string[]
let started: { method: string; callbackUrl: string }[]
let failure: ProviderFailure | undefined

const request = authorizationRequest()
const binding = createBrowserBinding((length) => new Uint8Array(length).fill(1))
const otherBinding = createBrowserBinding((length) => new Uint8Array(length).fill(2))

/** A provider whose code `code for N` fits the N-th sign-in that was started, and no other. */
function createSocialProvider(): SessionProvider {
  const used = new Set<string>()
  return {
    async socialStart(input) {
      started.push(input)
      return {
        url: `https://provider/authorize?flow=${started.length}`,
        secret: `verifier ${started.length}`,
      }
    },
    async socialFinish({ params, secret }) {
      tried.push(secret)
      if (failure) throw new ProviderError(failure, failure)
      const code = params.get('code') ?? ''
      if (code !== secret.replace('verifier', 'code for') || used.has(code)) {
        throw new ProviderError('expired', 'bad_code_verifier')
      }
      used.add(code)
      return signInSample()
    },
  } as SessionProvider
}

beforeEach(() => {
  runtime = createFakeRuntime(start)
  store = createMemoryStore()
  tried = []
  started = []
  failure = undefined
  ports = {
    store,
    provider: createSocialProvider(),
    sealer: createSealer([{ kid: 'k', key: runtime.randomBytes(32) }], runtime.randomBytes),
    runtime,
    callbackUrl: 'https://mcp.example.com/oauth/callback',
  }
})

describe('createBrowserBinding', () => {
  it('holds 256 random bits', () => {
    const bindings = Array.from({ length: 50 }, () => createBrowserBinding(runtime.randomBytes))
    expect(new Set(bindings).size).toBe(50)
    for (const each of bindings) expect(each).toMatch(/^[A-Za-z0-9_-]{43}$/)
  })
})

describe('the login transaction', () => {
  it('opens in the browser that got it, unchanged', () => {
    const sealed = sealTransaction(request, binding, ports)
    expect(openTransaction(sealed, binding, ports)).toEqual({ kind: 'open', request })
    expect(openTransaction(sealed, binding, ports)).toEqual({ kind: 'open', request })
  })

  it('shows nothing of the request', () => {
    const bytes = Buffer.from(sealTransaction(request, binding, ports).replace(/^.*\./, ''), 'base64url')
    expect(bytes.includes(request.clientId)).toBe(false)
    expect(bytes.includes(hashSecret(binding))).toBe(false)
  })

  it.each<[rule: string, presented: string | undefined]>([
    ['another browser', otherBinding],
    ['a browser without the cookie', undefined],
    ['an empty cookie', ''],
    ['the hash of the binding', hashSecret(binding)],
  ])('RFC 9700 4.7: is useless in %s', (_rule, presented) => {
    const sealed = sealTransaction(request, binding, ports)
    expect(openTransaction(sealed, presented, ports)).toEqual({ kind: 'foreign_browser' })
  })

  it.each([
    [3599, 'open'],
    [3600, 'expired'],
  ])('after %i s: %s', (after, kind) => {
    const sealed = sealTransaction(request, binding, ports)
    runtime.advance(after)
    expect(openTransaction(sealed, binding, ports).kind).toBe(kind)
  })

  it('a foreign browser learns nothing about expiry', () => {
    const sealed = sealTransaction(request, binding, ports)
    runtime.advance(7200)
    expect(openTransaction(sealed, otherBinding, ports).kind).toBe('foreign_browser')
  })

  it.each<[what: string, sealed: () => string]>([
    ['nothing', () => ''],
    ['any text', () => 'k.AAAA'],
    ['a changed one', () => `${sealTransaction(request, binding, ports).slice(0, -4)}AAAA`],
    [
      'one of another key',
      () =>
        sealTransaction(request, binding, {
          runtime,
          sealer: createSealer([{ kid: 'k', key: runtime.randomBytes(32) }], runtime.randomBytes),
        }),
    ],
    ['a text sealed for another purpose', () => ports.sealer.seal('{}', 'drawbridge social sign-in')],
  ])('%s is invalid', (_what, sealed) => {
    expect(openTransaction(sealed(), binding, ports)).toEqual({ kind: 'invalid' })
  })
})

describe('social sign-in', () => {
  const begin = (state: string, browser = binding): Promise<string> =>
    startSocialSignIn({ ...request, state }, 'google', browser, ports)
  const returnWith = (parameters: Record<string, string>, browser: string | undefined = binding) =>
    finishSocialSignIn(new URLSearchParams(parameters), browser, ports)

  it('goes to the provider with our callback and comes back to its request', async () => {
    expect(await begin('a')).toBe('https://provider/authorize?flow=1')
    expect(started).toEqual([{ method: 'google', callbackUrl: ports.callbackUrl }])
    expect(await returnWith({ code: 'code for 1' })).toEqual({
      kind: 'signed_in',
      signIn: signInSample(),
      request: { ...request, state: 'a' },
    })
  })

  it('stores neither request nor verifier in the clear', async () => {
    await begin('a')
    const [pending] = await store.listSocialSignIns(hashSecret(binding), start)
    const text = JSON.stringify(pending)
    for (const secret of ['verifier', request.clientId, binding]) expect(text).not.toContain(secret)
    expect(pending).toMatchObject({ bindingHash: hashSecret(binding), expiresAt: start + 600 })
  })

  it('several tabs: each code finds its own request, whatever the order', async () => {
    for (const state of ['a', 'b', 'c']) await begin(state)
    for (const [code, state] of [
      [2, 'b'],
      [1, 'a'],
      [3, 'c'],
    ] as const) {
      expect(await returnWith({ code: `code for ${code}` })).toMatchObject({
        kind: 'signed_in',
        request: { state },
      })
    }
  })

  it('tries the newest tab first, and a wrong verifier uses no tab up', async () => {
    for (const state of ['a', 'b', 'c']) await begin(state)
    await returnWith({ code: 'code for 1' })
    expect(tried).toEqual(['verifier 3', 'verifier 2', 'verifier 1'])
    expect(await store.listSocialSignIns(hashSecret(binding), start)).toHaveLength(2)
  })

  it('a sixth tab displaces the first', async () => {
    for (const state of ['a', 'b', 'c', 'd', 'e', 'f']) await begin(state)
    expect(await returnWith({ code: 'code for 1' })).toEqual({ kind: 'expired' })
    expect(await returnWith({ code: 'code for 2' })).toMatchObject({ kind: 'signed_in' })
  })

  it.each<[rule: string, browser: string | undefined]>([
    ['another browser', otherBinding],
    ['the hash of the binding', hashSecret(binding)],
    ['an empty cookie', ''],
  ])('RFC 9700 4.7: a code returned in %s finds nothing and is not sent on', async (_rule, browser) => {
    await begin('a')
    expect(await returnWith({ code: 'code for 1' }, browser)).toEqual({ kind: 'expired' })
    expect(tried).toEqual([])
    expect(await returnWith({ code: 'code for 1' })).toMatchObject({ kind: 'signed_in' })
  })

  it('a browser without the cookie finds nothing', async () => {
    await begin('a')
    const parameters = new URLSearchParams({ code: 'code for 1' })
    expect(await finishSocialSignIn(parameters, undefined, ports)).toEqual({ kind: 'expired' })
  })

  it("an attacker's finished sign-in does not complete in the victim's browser", async () => {
    await begin('victim')
    await begin('attacker', otherBinding)
    expect(await returnWith({ code: 'code for 2' })).toEqual({ kind: 'expired' })
  })

  it.each([
    [599, 'signed_in'],
    [600, 'expired'],
  ])('a return after %i s: %s', async (after, kind) => {
    await begin('a')
    runtime.advance(after)
    expect((await returnWith({ code: 'code for 1' })).kind).toBe(kind)
  })

  it('fifty returns with one code: one signs in', async () => {
    await begin('a')
    const results = await race(() => returnWith({ code: 'code for 1' }))
    expect(results.filter(({ kind }) => kind === 'signed_in')).toHaveLength(1)
    expect(results.filter(({ kind }) => kind === 'expired')).toHaveLength(49)
  })

  it('a code of nobody here is expired and uses nothing up', async () => {
    await begin('a')
    expect(await returnWith({ code: 'foreign' })).toEqual({ kind: 'expired' })
    expect(await returnWith({ code: 'code for 1' })).toMatchObject({ kind: 'signed_in' })
  })

  it.each<ProviderFailure>(['denied', 'invalid_token', 'protocol', 'disabled', 'rate_limited'])(
    '%s goes back to the request, and a link of another site cannot end the sign-in',
    async (kind) => {
      await begin('a')
      failure = kind
      expect(await returnWith({ error: 'access_denied' })).toMatchObject({
        kind: 'refused',
        failure: { failure: kind },
        request: { state: 'a' },
      })
      failure = undefined
      expect(await returnWith({ code: 'code for 1' })).toMatchObject({ kind: 'signed_in' })
    },
  )

  it('an unreachable provider leaves the sign-in open: reloading the page completes it', async () => {
    await begin('a')
    failure = 'transient'
    expect(await returnWith({ code: 'code for 1' })).toMatchObject({
      kind: 'refused',
      failure: { failure: 'transient' },
    })
    failure = undefined
    expect(await returnWith({ code: 'code for 1' })).toMatchObject({ kind: 'signed_in' })
  })

  it('nothing is stored when the provider refuses to start', async () => {
    const provider = {
      ...ports.provider,
      socialStart: () => Promise.reject(new ProviderError('disabled', 'off')),
    }
    await expect(startSocialSignIn(request, 'google', binding, { ...ports, provider })).rejects.toMatchObject(
      {
        failure: 'disabled',
      },
    )
    expect(await store.listSocialSignIns(hashSecret(binding), start)).toEqual([])
  })

  it('a key that has left the ring makes a pending sign-in expired', async () => {
    await begin('a')
    const sealer = createSealer([{ kid: 'new', key: runtime.randomBytes(32) }], runtime.randomBytes)
    const result = await finishSocialSignIn(new URLSearchParams({ code: 'code for 1' }), binding, {
      ...ports,
      sealer,
    })
    expect(result).toEqual({ kind: 'expired' })
  })

  it('a fault in the program is not an answer', async () => {
    await begin('a')
    const provider = { ...ports.provider, socialFinish: () => Promise.reject(new RangeError('a bug')) }
    const result = finishSocialSignIn(new URLSearchParams({ code: 'x' }), binding, { ...ports, provider })
    await expect(result).rejects.toThrow(RangeError)
  })
})
