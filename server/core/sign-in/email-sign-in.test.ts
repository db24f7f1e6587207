import { beforeEach, describe, expect, it } from 'vitest'
import {
  authorizationPurpose,
  capabilitiesSample,
  providerSample,
  signInPortsSample,
  visitorSample,
} from '../../../tests/support/server/core/sign-in-sample.ts'
import { ProviderError } from '../session/session-provider.ts'
import { requestEmail } from './email-sign-in.ts'

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

/** What others get while the limit of somebody is reached. */
async function expectOthersServed(): Promise<void> {
  const before = sent.length
  for (const [person, address] of hosts(100).entries()) {
    expect(await ask(`other-${person}@example.com`, address.replace('10.', '192.'))).toBe(false)
  }
  expect(sent).toHaveLength(before + 100)
}

describe(`${times} mails`, () => {
  it('asked for at once for one person are one, wherever they are asked from', async () => {
    await Promise.all(hosts(times).map((address) => ask('ada@example.com', address)))
    expect(sent).toEqual(['ada@example.com'])
    await expectOthersServed()
  })

  it('asked for in an hour for one person are five', async () => {
    for (const address of hosts(times)) {
      await ask('ada@example.com', address)
      await ask(' ADA@example.com ', address)
      ports.runtime.advance(3)
    }
    expect(sent).toHaveLength(5)
    await expectOthersServed()
  })

  it('asked for at once by one address of a network, each for another person, are ten', async () => {
    const people = Array.from({ length: times }, (_, person) => `p${person}@example.com`)
    await Promise.all(people.map((email) => ask(email, '203.0.113.1')))
    expect(sent).toHaveLength(10)
    await expectOthersServed()
  })
})
