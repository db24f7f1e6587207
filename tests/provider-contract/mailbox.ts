import type { Readable } from 'node:stream'
import { callbackify } from 'node:util'
import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { simpleParser } from 'mailparser'
import { SMTPServer, type SMTPServerAddress } from 'smtp-server'

/** A mail as a person reads it. A code or a link that it does not have is undefined. */
export interface ReceivedMail {
  subject: string
  code: string | undefined
  link: string | undefined
}

/** Where the mails of a server arrive. */
export interface Mailbox {
  /** Returns the oldest mail to `address` that was not returned yet; rejects if none comes within ten seconds. */
  next(address: string): Promise<ReceivedMail>
  close(): Promise<void>
}

interface AddressedMail extends ReceivedMail {
  to: readonly string[]
}

const maxWaitMs = 10_000

/** Receives by SMTP on `port` of this computer. Accepts any sender. */
export async function openMailSink(port: number): Promise<Mailbox & { port: number }> {
  const mails: AddressedMail[] = []
  const accept = callbackify(
    async (stream: Readable, rcptTo: readonly SMTPServerAddress[]): Promise<void> => {
      const { to, subject = '', text = '', html } = await simpleParser(stream)
      const addresses = [...rcptTo, ...[to ?? []].flat().flatMap(({ value }) => value)]
      mails.push({
        to: addresses.map(({ address = '' }) => address.toLowerCase()),
        ...readMail(subject, text, html || ''),
      })
    },
  )
  const server = new SMTPServer({
    authOptional: true,
    onAuth: ({ username }, _session, done) => done(null, { user: username ?? 'anybody' }),
    // A client would have to trust the certificate.
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    logger: false,
    onData: (stream, { envelope }, done) => accept(stream, envelope.rcptTo, done),
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  const bound = server.server.address()
  return {
    port: bound !== null && typeof bound === 'object' ? bound.port : port,
    next: nextOf(async () => mails),
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

/** Reads the mails that the sandbox shows as JSON, newest first. */
export function openMailPage(url: string): Mailbox {
  return {
    next: nextOf(async () => {
      const answer: unknown = await (await fetch(url, { headers: { accept: 'application/json' } })).json()
      if (!Array.isArray(answer)) throw new Error(`${url} is no list of mails.`)
      return answer.filter(isJsonObject).toReversed().map(mailOfPage)
    }),
    close: async () => {},
  }
}

function mailOfPage({ to, subject, code, link }: Record<string, unknown>): AddressedMail {
  return {
    to: [String(to)],
    subject: String(subject),
    code: typeof code === 'string' ? code : undefined,
    link: typeof link === 'string' ? link : undefined,
  }
}

/** `list` returns all mails, oldest first. */
function nextOf(list: () => Promise<readonly AddressedMail[]>): Mailbox['next'] {
  const taken = new Map<string, number>()
  return async (address) => {
    const already = taken.get(address) ?? 0
    for (const end = performance.now() + maxWaitMs; performance.now() < end;) {
      const mail = (await list()).filter(({ to }) => to.includes(address))[already]
      if (mail) {
        taken.set(address, already + 1)
        return mail
      }
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    throw new Error('The mail did not come.')
  }
}

/** Finds code and link where a person would: the link first, since its token has digits too. */
function readMail(subject: string, text: string, html: string): ReceivedMail {
  const targets = [...html.matchAll(/\bhref\s*=\s*"([^"]*)"/gi)].map(([, target = '']) =>
    withoutEntities(target),
  )
  const written = text.match(/https?:\/\/[^\s<>\]"]+/g) ?? []
  const link = [...targets, ...written].find((target) => /^https?:\/\/\S+\/verify\?/.test(target))
  const rest = text.replaceAll(/https?:\/\/\S+/g, ' ')
  return { subject, link, code: /(?<![\w-])\d{6,10}(?![\w-])/.exec(rest)?.[0] }
}

function withoutEntities(text: string): string {
  return text
    .replaceAll('&amp;', '&')
    .replaceAll('&#43;', '+')
    .replaceAll('&#x3D;', '=')
    .replaceAll('&#61;', '=')
}
