import { beforeEach, describe, expect, it } from 'vitest'
import {
  authorizationPurpose,
  capabilitiesSample,
  providerSample,
  signedIn,
  signInPortsSample,
  visitorSample,
} from '../../../tests/support/server/core/sign-in-sample.ts'
import { ProviderError } from '../session/session-provider.ts'
import { requestEmail, tryEmailCode } from './email-sign-in.ts'
import { maxEmailLength } from './sign-in.ts'

const times = 1000
let ports: ReturnType<typeof signInPortsSample>
/** Addresses that the provider was asked to send to. */
let sent: string[]

beforeEach(() => {
  sent = []
  ports = signInPortsSample(
    providerSample({
      capabilities: async () => capabilitiesSample({ password: false, email: 'code', social: [] }),
      async emailStart({ email }) {
        sent.push(email)
        return { secret: 'verifier' }
      },
    }),
  )
})

/** Asks for a mail from a network address; returns whether it was refused by a limit. */
async function ask(email: string, address: string): Promise<boolean> {
  const visitor = { ...visitorSample(), address }
  try {
    await requestEmail({ email, captchaToken: undefined }, authorizationPurpose(), visitor, ports)
    return false
  } catch (error) {
    if (error instanceof ProviderError && error.failure.startsWith('mail_')) return true
    throw error
  }
}

const hosts = (count: number): string[] =>
  Array.from({ length: count }, (_, host) => `10.0.${host >> 8}.${host & 255}`)

/** The responses to other users while one user's limit is reached. */
async function expectOthersServed(): Promise<void> {
  const before = sent.length
  for (const [person, address] of hosts(100).entries()) {
    expect(await ask(`other-${person}@example.com`, address.replace('10.', '192.'))).toBe(false)
  }
  expect(sent).toHaveLength(before + 100)
}

describe(`${times} mails`, () => {
  it('mails requested at once for one user are limited to one, from any address', async () => {
    await Promise.all(hosts(times).map((address) => ask('ada@example.com', address)))
    expect(sent).toEqual(['ada@example.com'])
    await expectOthersServed()
  })

  it('mails requested in an hour for one user are limited to five', async () => {
    for (const address of hosts(times)) {
      await ask('ada@example.com', address)
      await ask(' ADA@example.com ', address)
      ports.runtime.advance(3)
    }
    expect(sent).toHaveLength(5)
    await expectOthersServed()
  })

  it('mails requested at once from one IP address for different users are limited to ten', async () => {
    const people = Array.from({ length: times }, (_, person) => `p${person}@example.com`)
    await Promise.all(people.map((email) => ask(email, '203.0.113.1')))
    expect(sent).toHaveLength(10)
    await expectOthersServed()
  })
})

const request = (email: string): ReturnType<typeof requestEmail> =>
  requestEmail({ email, captchaToken: undefined }, authorizationPurpose(), visitorSample(), ports)

describe('a mail', () => {
  it.each([
    ['where none are offered', { capabilities: async () => capabilitiesSample({}) }],
    ['that the provider cannot send', { emailStart: undefined as never }],
  ])('a mail %s is refused, and nothing is counted', async (_what, changes) => {
    ports = { ...ports, provider: { ...ports.provider, ...changes } }
    await expect(request('ada@example.com')).rejects.toMatchObject({ failure: 'disabled' })
    expect(sent).toEqual([])
  })

  it.each(['ada', 'ada@', '@example.com', 'a b@example.com', 'a@b@example.com', ''])(
    'a mail to %j, which is not an address, is refused',
    async (email) => {
      await expect(request(email)).rejects.toMatchObject({ failure: 'bad_email' })
    },
  )

  it('a mail goes to an address of the maximum length', async () => {
    const longest = `${'a'.repeat(maxEmailLength - '@example.com'.length)}@example.com`
    await expect(request(`a${longest}`)).rejects.toMatchObject({ failure: 'bad_email' })
    await (
      await request(` ${longest} `)
    ).sent
    expect(sent).toEqual([longest])
  })
})

describe('a mailed code', () => {
  let tried: string[]
  let failure: ProviderError | undefined
  beforeEach(() => {
    tried = []
    failure = undefined
    ports = {
      ...ports,
      provider: {
        ...ports.provider,
        async emailVerify({ code }) {
          tried.push(code)
          if (failure) throw failure
          return signedIn()
        },
      },
    }
  })

  const enter = async (code: string): ReturnType<typeof tryEmailCode> => {
    const { prompt } = await request('ada@example.com')
    return tryEmailCode(code, prompt, visitorSample(), ports)
  }

  it.each(['12345', '12345678901', 'x123456', '123456x', '12x3456', ''])(
    '%j is not a mailed code, and is not sent',
    async (code) => {
      expect(await enter(code)).toMatchObject({
        kind: 'again',
        failure: { failure: 'wrong_code' },
        codesLeft: undefined,
      })
      expect(tried).toEqual([])
    },
  )

  it.each(['123456', '1234567890', ' 123 456 '])('%j is accepted as a mailed code', async (code) => {
    expect(await enter(code)).toMatchObject({ kind: 'step', step: { kind: 'signed_in' } })
    expect(tried).toEqual([code.replaceAll(' ', '')])
  })

  it('a mailed code can be entered for an hour, if the provider takes any', async () => {
    const { prompt } = await request('ada@example.com')
    ports.runtime.advance(3599)
    const early = await tryEmailCode('123456', prompt, visitorSample(), ports)
    expect(early.kind).toBe('step')
    ports.runtime.advance(1)
    expect(await tryEmailCode('123456', prompt, visitorSample(), ports)).toEqual({ kind: 'over' })
    const { emailVerify: _, ...without } = ports.provider
    const later = { ...prompt, sentAt: ports.runtime.now() }
    expect(await tryEmailCode('123456', later, visitorSample(), { ...ports, provider: without })).toEqual({
      kind: 'over',
    })
    expect(tried).toHaveLength(1)
  })

  it('a mailed code that is wrong can be corrected four times', async () => {
    failure = new ProviderError('wrong_code', 'no')
    const { prompt } = await request('ada@example.com')
    const left: unknown[] = []
    for (let time = 0; time < 6; time += 1) {
      const result = await tryEmailCode('123456', prompt, visitorSample(), ports)
      left.push(result.kind === 'again' ? result.codesLeft : result.kind)
    }
    expect(left).toEqual([4, 3, 2, 1, 'over', 'over'])
    expect(tried).toHaveLength(5)
  })

  it('a code that was not judged does not count as wrong, and an account that may not sign in is told so', async () => {
    const { prompt } = await request('ada@example.com')
    for (const kind of ['transient', 'protocol', 'rate_limited'] as const) {
      failure = new ProviderError(kind, 'no')
      const result = await tryEmailCode('123456', prompt, visitorSample(), ports)
      expect(result).toMatchObject({ kind: 'again', failure: { failure: kind }, codesLeft: undefined })
    }
    failure = new ProviderError('terminal', 'no')
    await expect(tryEmailCode('123456', prompt, visitorSample(), ports)).rejects.toBe(failure)
    failure = new ProviderError('wrong_code', 'no')
    expect(await tryEmailCode('123456', prompt, visitorSample(), ports)).toMatchObject({ codesLeft: 4 })
  })
})
