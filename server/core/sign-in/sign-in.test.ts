import { beforeEach, describe, expect, it } from 'vitest'
import type { FakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { race, start, sealerSample } from '../../../tests/support/server/core/grant-sample.ts'
import {
  authorizationPurpose,
  capabilitiesSample,
  providerSample,
  secondFactorStep,
  signedIn,
  signInPortsSample,
  signInSample,
  visitorSample,
} from '../../../tests/support/server/core/sign-in-sample.ts'
import { rememberAccount } from './device-cookie.ts'
import { hashSecret } from '../seal.ts'
import {
  type Captcha,
  type ProviderCapabilities,
  ProviderError,
  type ProviderFailure,
  type SessionProvider,
  type SignInStep,
} from '../session/session-provider.ts'
import {
  finishSocialSignIn,
  type PostedPassword,
  signInWithPassword,
  type SocialReturn,
  startSocialSignIn,
  startSsoSignIn,
} from './sign-in.ts'
import type { SignInPorts } from './pending-sign-in.ts'
import { createBrowserBinding } from './browser-seal.ts'
import type { SignInVisitor } from './sign-in-limit.ts'
import type { Store } from '../store.ts'
import { StoreUnavailableError } from '../store-unavailable.ts'

let runtime: FakeRuntime
let store: Store
let ports: SignInPorts
/** Secrets presented with a code, in order. */
let tried: string[]
let started: { method: string; callbackUrl: string }[]
let finished: string[]
let failure: ProviderFailure | undefined
let answer: SignInStep

const purpose = authorizationPurpose()
const { request } = purpose
const visitor = visitorSample()
const { binding } = visitor
const otherBinding = createBrowserBinding((length) => new Uint8Array(length).fill(2))

/** Creates a provider whose code `code for N` matches only the N-th sign-in. */
function createSocialProvider(): SessionProvider {
  const used = new Set<string>()
  return providerSample({
    async socialStart(input) {
      started.push(input)
      return {
        url: `https://provider/authorize?flow=${started.length}`,
        secret: `verifier ${started.length}`,
      }
    },
    async socialFinish({ params, secret, callbackUrl }) {
      tried.push(secret)
      finished.push(callbackUrl)
      if (failure) throw new ProviderError(failure, failure)
      const code = params.get('code') ?? ''
      if (code !== secret.replace('verifier', 'code for') || used.has(code)) {
        throw new ProviderError('expired', 'bad_code_verifier')
      }
      used.add(code)
      return answer
    },
  })
}

beforeEach(() => {
  tried = []
  started = []
  finished = []
  failure = undefined
  answer = signedIn()
  const sample = signInPortsSample(createSocialProvider())
  ;({ runtime, store } = sample)
  ports = sample
})

describe('signing in with a password', () => {
  const posted: PostedPassword = {
    email: 'ada@example.com',
    password: 'correct horse',
    captchaToken: undefined,
  }
  const captcha: Captcha = { kind: 'turnstile', siteKey: 'site' }
  /** Calls that reached the provider. */
  let sent: unknown[]

  function offer(capabilities: { password?: boolean; captcha?: Captcha } = {}): SignInPorts {
    sent = []
    const { password = true, captcha: wanted } = capabilities
    const provider = providerSample({
      capabilities: async () => capabilitiesSample({ password, social: [], captcha: wanted }),
      async passwordSignIn(input) {
        sent.push(input)
        if (input.password === 'wrong') throw new ProviderError('invalid_credentials', 'Wrong password.')
        return answer
      },
    })
    return { ...ports, provider }
  }

  it('a password sign-in sends email and password, the email without blanks around it', async () => {
    const step = await signInWithPassword({ ...posted, email: ' ada@example.com ' }, visitor, offer())
    expect(step).toEqual(signedIn())
    expect(sent).toEqual([posted])
  })

  it.each<[rule: string, part: Partial<PostedPassword>]>([
    ['no email', { email: '' }],
    ['no password', { password: '' }],
    ['an endless email', { email: `${'a'.repeat(320)}@` }],
    ['an endless password', { password: 'x'.repeat(1025) }],
  ])('a password sign-in treats %s as a wrong password, and sends nothing', async (_rule, part) => {
    const result = signInWithPassword({ ...posted, ...part }, visitor, offer())
    await expect(result).rejects.toMatchObject({ failure: 'invalid_credentials' })
    expect(sent).toEqual([])
  })

  it('a password sign-in passes a captcha response on, and only where one is demanded', async () => {
    const answered = { ...posted, captchaToken: 'response' }
    await signInWithPassword(answered, visitor, offer({ captcha }))
    expect(sent).toEqual([answered])
    await signInWithPassword(answered, visitor, offer())
    expect(sent).toEqual([posted])
  })

  it.each<[rule: string, ports: () => SignInPorts]>([
    ['that has no such method', () => ({ ...ports, provider: providerSample() })],
    ['that has switched it off', () => offer({ password: false })],
  ])('a password posted to a provider %s is refused', async (_rule, given) => {
    sent = []
    const result = signInWithPassword(posted, visitor, given())
    await expect(result).rejects.toMatchObject({ failure: 'disabled' })
    expect(sent).toEqual([])
  })

  it('a half-way session of a password sign-in is stored for its second step', async () => {
    answer = secondFactorStep()
    const step = await signInWithPassword(posted, visitor, offer())
    expect(step).toMatchObject({ kind: 'second_factor', prompt: { factors: [{ id: 'phone' }] } })
  })

  const wrong = { ...posted, password: 'wrong' }
  /** Makes one guess; rejects unless the provider judged it. */
  const guess = (guessed: PostedPassword, who: SignInVisitor, given: SignInPorts): Promise<void> =>
    expect(signInWithPassword(guessed, who, given)).rejects.toMatchObject({ failure: 'invalid_credentials' })
  const remember = (): ReturnType<typeof rememberAccount> =>
    rememberAccount([], 'ada@example.com', ports.provider.issuer, runtime)

  it.each<[rule: string, email: string, knows: boolean, failures: number]>([
    ['five times from one address', 'ada@example.com', false, 5],
    ['however the account is typed', ' ADA@example.com', false, 5],
    ['ten times from a browser that signed in to it before', 'ada@example.com', true, 10],
  ])('an account takes wrong passwords %s in a quarter of an hour', async (_rule, email, knows, most) => {
    const known = knows ? remember() : []
    const given = visitorSample({ address: '192.0.2.1', knownAccounts: known })
    const offered = { ...offer(), limitPerMinute: 10_000 }
    for (let time = 0; time < most; time += 1) await guess(wrong, given, offered)
    const result = signInWithPassword({ ...posted, email }, given, offered)
    await expect(result).rejects.toMatchObject({ failure: 'rate_limited', retryAfterSeconds: 900 })
    expect(sent).toHaveLength(most)
  })

  it('a copied or old cookie of the owner does not lock other browsers out', async () => {
    const offered = { ...offer(), limitPerMinute: 10_000 }
    const copied = visitorSample({ knownAccounts: remember() })
    for (let time = 0; time < 10; time += 1) await guess(wrong, copied, offered)
    await expect(signInWithPassword(posted, copied, offered)).rejects.toMatchObject({
      failure: 'rate_limited',
    })
    const own = visitorSample({ knownAccounts: remember() })
    await expect(signInWithPassword(posted, own, offered)).resolves.toBeDefined()
  })

  it('a password sign-in over the limit sends nothing, and unsent attempts are not counted', async () => {
    const limited = { ...offer(), limitPerMinute: 1 }
    await expect(signInWithPassword({ ...posted, password: '' }, visitor, limited)).rejects.toThrow()
    await signInWithPassword(posted, visitor, limited)
    const result = signInWithPassword(posted, visitor, limited)
    await expect(result).rejects.toMatchObject({ failure: 'rate_limited', retryAfterSeconds: 60 })
    expect(sent).toHaveLength(1)
  })
})

describe('single sign-on', () => {
  const asked: unknown[] = []
  const captcha: Captcha = { kind: 'turnstile', siteKey: 'site' }

  function offer(capabilities: Partial<ProviderCapabilities> = {}): SignInPorts {
    asked.length = 0
    const provider = providerSample({
      capabilities: async () =>
        capabilitiesSample({ password: false, social: [], sso: true, ...capabilities }),
      async ssoStart(input) {
        asked.push(input)
        if (input.domain === 'down.example') throw new ProviderError('transient', 'No answer.')
        if (input.domain === 'other.example') throw new ProviderError('unknown_domain', 'No such domain.')
        return { url: 'https://company/login', secret: 'secret' }
      },
      socialFinish: async () => answer,
    })
    return { ...ports, provider }
  }
  const startSso = (email: string, given: SignInPorts, captchaToken?: string): Promise<string> =>
    startSsoSignIn(purpose, { email, captchaToken }, visitor, given)

  it.each([
    ['lin@company.example', 'company.example'],
    [' Lin@COMPANY.Example ', 'company.example'],
    ['"odd@local"@company.example', 'company.example'],
    ['lin@münchen.example', 'münchen.example'],
  ])('single sign-on of %j requests the domain %s', async (typed, domain) => {
    const given = offer()
    expect(await startSso(typed, given)).toBe('https://company/login')
    expect(asked).toEqual([{ domain, callbackUrl: given.callbackUrl, captchaToken: undefined }])
  })

  it.each([
    '',
    'lin@',
    'lin@localhost',
    'lin@company.example.',
    'https://company.example',
    'company.example/x',
    'company..example',
    `${'a'.repeat(250)}.example`,
  ])('single sign-on of %j is refused, not sent and not counted', async (typed) => {
    const given = { ...offer(), limitPerMinute: 1 }
    await expect(startSso(typed, given)).rejects.toMatchObject({ failure: 'bad_domain' })
    expect(asked).toEqual([])
    await startSso('company.example', given)
  })

  it('single sign-on that is not offered is refused without a request to the provider', async () => {
    await expect(startSso('company.example', offer({ sso: false }))).rejects.toMatchObject({
      failure: 'disabled',
    })
    expect(asked).toEqual([])
  })

  it('single sign-on needs the captcha response where one is demanded, and sends none elsewhere', async () => {
    const given = offer({ captcha })
    for (const token of [undefined, '', 'x'.repeat(16_385)])
      await expect(startSso('company.example', given, token)).rejects.toMatchObject({ failure: 'captcha' })
    expect(asked).toEqual([])
    await startSso('company.example', given, 'solved')
    expect(asked).toMatchObject([{ captchaToken: 'solved' }])
    await startSso('company.example', offer(), 'solved')
    expect(asked).toMatchObject([{ captchaToken: undefined }])
  })

  it('single sign-on over the limit is not sent to the provider: each domain that was tried counts', async () => {
    const given = { ...offer(), limitPerMinute: 3 }
    for (let time = 0; time < 2; time += 1)
      await expect(startSso('other.example', given)).rejects.toMatchObject({ failure: 'unknown_domain' })
    await expect(startSso('company.example', given)).rejects.toMatchObject({ failure: 'rate_limited' })
    expect(asked).toHaveLength(2)
  })

  it.each([
    ['other.example', 'rate_limited'],
    ['down.example', 'transient'],
  ])(
    'single sign-on of a domain about which the provider says nothing is not counted for the hour: %s',
    async (domain, last) => {
      const given = { ...offer(), limitPerMinute: 4 }
      const guest = visitorSample({ address: '192.0.2.1' })
      const failures: string[] = []
      for (let time = 0; time < 13; time += 1) {
        const result = startSsoSignIn(purpose, { email: domain, captchaToken: undefined }, guest, given)
        failures.push(await result.catch((error: ProviderError) => error.failure))
        runtime.advance(60)
      }
      expect(failures.at(-1)).toBe(last)
    },
  )
})

describe('social sign-in', () => {
  const begin = (state: string, browser = binding): Promise<string> =>
    startSocialSignIn(authorizationPurpose({ state }), 'google', visitorSample({ binding: browser }), ports)
  const returnWith = (parameters: Record<string, string>, browser: string | undefined = binding) =>
    finishSocialSignIn(
      new URLSearchParams(parameters),
      browser === undefined ? undefined : visitorSample({ binding: browser }),
      ports,
    )

  it('social sign-in goes to the provider with our callback and comes back to its request', async () => {
    expect(await begin('a')).toBe('https://provider/authorize?flow=1')
    expect(started).toEqual([{ method: 'google', callbackUrl: ports.callbackUrl, isFresh: false }])
    expect(await returnWith({ code: 'code for 1' })).toEqual({
      kind: 'returned',
      step: signedIn(),
      purpose: authorizationPurpose({ state: 'a' }),
    })
    expect(finished).toEqual([ports.callbackUrl])
  })

  it('a half-way session of a social sign-in is stored for its second step, once', async () => {
    answer = secondFactorStep()
    await begin('a')
    expect(await returnWith({ code: 'code for 1' })).toMatchObject({
      kind: 'returned',
      step: { kind: 'second_factor', prompt: { factors: [{ id: 'phone' }] } },
      purpose: { request: { state: 'a' } },
    })
    expect(await returnWith({ code: 'code for 1' })).toEqual({ kind: 'expired' })
  })

  it('a social sign-in method that is not offered is refused without a request to the provider', async () => {
    await expect(startSocialSignIn(purpose, 'myspace', visitor, ports)).rejects.toMatchObject({
      failure: 'disabled',
    })
    expect(started).toEqual([])
  })

  it('social sign-in counts each further try at a code, and sends none over the limit', async () => {
    // Strangers have twenty of these.
    ports = { ...ports, limitPerMinute: 30 }
    for (const state of ['a', 'b', 'c', 'd', 'e']) await begin(state)
    for (let time = 0; time < 100; time += 1) await returnWith({ code: 'junk' })
    // Five departures and fifteen tries were counted; the first try of each of the five was covered by its departure.
    expect(tried).toHaveLength(20)
    expect(await returnWith({ code: 'code for 1' })).toMatchObject({
      kind: 'refused',
      failure: { failure: 'rate_limited', retryAfterSeconds: 60 },
    })
    runtime.advance(60)
    expect(await returnWith({ code: 'code for 1' })).toMatchObject({
      kind: 'returned',
      purpose: { request: { state: 'a' } },
    })
  })

  it('social sign-in counts departures and returns for the address that they come from', async () => {
    const from = (address: string): SignInVisitor => visitorSample({ address })
    ports = { ...ports, limitPerMinute: 4 }
    const leave = (address: string): Promise<string> =>
      startSocialSignIn(purpose, 'google', from(address), ports)
    await leave('192.0.2.1')
    await leave('192.0.2.1')
    await expect(leave('192.0.2.1')).rejects.toMatchObject({ failure: 'rate_limited' })
    await leave('192.0.2.2')
    const back = (code: string): Promise<SocialReturn> =>
      finishSocialSignIn(new URLSearchParams({ code }), from('192.0.2.1'), ports)
    expect(await back('junk')).toEqual({ kind: 'expired' })
    tried.length = 0
    expect(await back('junk')).toMatchObject({ failure: { failure: 'rate_limited' } })
    expect(tried).toEqual([])
  })

  it('a social sign-in that is completed is given back to its address', async () => {
    ports = { ...ports, limitPerMinute: 4 }
    const address = '192.0.2.1'
    // Twelve an hour, two a minute.
    for (let flow = 1; flow <= 20; flow += 1) {
      await startSocialSignIn(purpose, 'google', visitorSample({ address }), ports)
      const code = new URLSearchParams({ code: `code for ${flow}` })
      expect(await finishSocialSignIn(code, visitorSample({ address }), ports)).toMatchObject({
        kind: 'returned',
      })
      runtime.advance(30)
    }
  })

  it('a social sign-in that was started can be completed, even from an address at its limit', async () => {
    ports = { ...ports, limitPerMinute: 20 }
    const address = '192.0.2.1'
    const people = Array.from({ length: 10 }, (_, index) =>
      visitorSample({
        address,
        binding: createBrowserBinding((length) => new Uint8Array(length).fill(index)),
      }),
    )
    for (const person of people) await startSocialSignIn(purpose, 'google', person, ports)
    await expect(
      startSocialSignIn(purpose, 'google', visitorSample({ address }), ports),
    ).rejects.toMatchObject({
      failure: 'rate_limited',
    })
    for (const [index, person] of people.entries()) {
      const code = new URLSearchParams({ code: `code for ${index + 1}` })
      expect(await finishSocialSignIn(code, person, ports)).toMatchObject({ kind: 'returned' })
    }
  })

  it('a social sign-in that was displaced while the provider answered has its session ended', async () => {
    const out: unknown[] = []
    const { socialFinish } = ports.provider
    const provider: SessionProvider = {
      ...ports.provider,
      signOut: async (session) => void out.push(session),
      async socialFinish(input) {
        const answered = await socialFinish(input)
        runtime.advance(600)
        await store.collectExpired(runtime.now(), 100)
        return answered
      },
    }
    await begin('a')
    ports = { ...ports, provider }
    expect(await returnWith({ code: 'code for 1' })).toEqual({ kind: 'expired' })
    expect(out).toEqual([signInSample().session])
  })

  it('a return of a social sign-in without a code does not count', async () => {
    ports = { ...ports, limitPerMinute: 2 }
    await begin('a')
    failure = 'denied'
    for (let time = 0; time < 5; time += 1) await returnWith({ error: 'access_denied' })
    failure = undefined
    expect((await returnWith({ code: 'code for 1' })).kind).toBe('returned')
  })

  it.each<ProviderFailure>(['transient', 'denied'])(
    '%s at the first of two tabs is attributed to neither, at the last one left to that one',
    async (kind) => {
      await begin('a')
      await begin('b')
      failure = kind
      expect(await returnWith({ code: 'code for 1' })).toMatchObject({ kind: 'refused', purpose: undefined })
      failure = undefined
      const finish = ports.provider.socialFinish
      const socialFinish: SessionProvider['socialFinish'] = (input) =>
        input.secret === 'verifier 1' ? Promise.reject(new ProviderError(kind, kind)) : finish(input)
      ports = { ...ports, provider: { ...ports.provider, socialFinish } }
      expect(await returnWith({ code: 'code for 1' })).toMatchObject({
        kind: 'refused',
        purpose: { request: { state: 'a' } },
      })
    },
  )

  it('a social sign-in ends the session at the provider if the store fails', async () => {
    await begin('a')
    const out: unknown[] = []
    const signOut = async (session: unknown): Promise<void> => void out.push(session)
    const down = new StoreUnavailableError('down', { cause: undefined })
    ports = {
      ...ports,
      provider: { ...ports.provider, signOut },
      store: { ...store, removeSocialSignIn: () => Promise.reject(down) },
    }
    await expect(returnWith({ code: 'code for 1' })).rejects.toBe(down)
    expect(out).toEqual([signInSample().session])
  })

  it('a social sign-in stores neither request nor verifier in the clear', async () => {
    await begin('a')
    const [pending] = await store.listSocialSignIns(hashSecret(binding), start)
    const text = JSON.stringify(pending)
    for (const secret of ['verifier', request.clientId, binding]) expect(text).not.toContain(secret)
    expect(pending).toMatchObject({ bindingHash: hashSecret(binding), expiresAt: start + 600 })
  })

  it('a social sign-in finds the request of each code from several tabs, in any order', async () => {
    for (const state of ['a', 'b', 'c']) await begin(state)
    for (const [code, state] of [
      [2, 'b'],
      [1, 'a'],
      [3, 'c'],
    ] as const) {
      expect(await returnWith({ code: `code for ${code}` })).toMatchObject({
        kind: 'returned',
        purpose: { request: { state } },
      })
    }
  })

  it('a sixth tab displaces the first social sign-in', async () => {
    for (const state of ['a', 'b', 'c', 'd', 'e', 'f']) await begin(state)
    expect(await returnWith({ code: 'code for 1' })).toEqual({ kind: 'expired' })
    expect(await returnWith({ code: 'code for 2' })).toMatchObject({ kind: 'returned' })
  })

  it.each<[rule: string, browser: string | undefined]>([
    ['another browser', otherBinding],
    ['the hash of the binding', hashSecret(binding)],
  ])('RFC 9700 4.7: a code returned in %s finds nothing and is not sent on', async (_rule, browser) => {
    await begin('a')
    expect(await returnWith({ code: 'code for 1' }, browser)).toEqual({ kind: 'expired' })
    expect(tried).toEqual([])
    expect(await returnWith({ code: 'code for 1' })).toMatchObject({ kind: 'returned' })
  })

  it("MCP security Confused-Deputy: an attacker's finished sign-in does not complete in the victim's browser", async () => {
    await begin('victim')
    await begin('attacker', otherBinding)
    expect(await returnWith({ code: 'code for 2' })).toEqual({ kind: 'expired' })
  })

  it.each([
    [599, 'returned'],
    [600, 'expired'],
  ])('MCP security Confused-Deputy: a return after %i s: %s', async (after, kind) => {
    await begin('a')
    runtime.advance(after)
    expect((await returnWith({ code: 'code for 1' })).kind).toBe(kind)
  })

  it('MCP security Confused-Deputy: fifty returns with a code that the provider takes twice: one signs in, and the others are ended', async () => {
    await begin('a')
    const out: unknown[] = []
    const signOut = async (session: unknown): Promise<void> => void out.push(session)
    ports = { ...ports, provider: { ...ports.provider, signOut, socialFinish: async () => signedIn() } }
    const results = await race(() => returnWith({ code: 'any' }))
    expect(results.filter(({ kind }) => kind === 'returned')).toHaveLength(1)
    expect(out).toHaveLength(49)
  })

  it.each<ProviderFailure>(['denied', 'transient', 'rate_limited'])(
    '%s goes back to the request, and a link of another site cannot end the sign-in',
    async (kind) => {
      await begin('a')
      failure = kind
      expect(await returnWith({ error: 'access_denied' })).toMatchObject({
        kind: 'refused',
        failure: { failure: kind },
        purpose: { request: { state: 'a' } },
      })
      failure = undefined
      expect(await returnWith({ code: 'code for 1' })).toMatchObject({ kind: 'returned' })
    },
  )

  it('a key that has left the ring makes a pending sign-in expired', async () => {
    await begin('a')
    ports = { ...ports, sealer: sealerSample('new') }
    expect(await returnWith({ code: 'code for 1' })).toEqual({ kind: 'expired' })
  })

  it('a social sign-in stores nothing if the provider refuses to start', async () => {
    ports.provider.socialStart = () => Promise.reject(new ProviderError('disabled', 'off'))
    await expect(begin('a')).rejects.toMatchObject({ failure: 'disabled' })
    expect(await store.listSocialSignIns(hashSecret(binding), start)).toEqual([])
  })
})
