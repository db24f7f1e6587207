import { connect } from 'node:net'
import { once } from 'node:events'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openMailSink } from './mailbox.ts'

let sink: Awaited<ReturnType<typeof openMailSink>>
beforeEach(async () => {
  sink = await openMailSink(0)
})
afterEach(() => sink.close())

/** Sends as a mail server does: line by line, each after the answer to the last. */
async function deliver(to: string, lines: readonly string[]): Promise<void> {
  const socket = connect(sink.port, '127.0.0.1').setEncoding('utf8')
  const answered = async (code: string): Promise<void> => {
    const [answer] = (await once(socket, 'data')) as [string]
    expect(answer.slice(0, 3)).toBe(code)
  }
  const say = async (line: string, code: string): Promise<void> => {
    socket.write(`${line}\r\n`)
    await answered(code)
  }
  await answered('220')
  await say('EHLO mail.example.com', '250')
  await say('MAIL FROM:<noreply@example.com>', '250')
  await say(`RCPT TO:<${to}>`, '250')
  await say('DATA', '354')
  await say([...lines, '.'].join('\r\n'), '250')
  await say('QUIT', '221')
}

const link =
  'https://auth.example.com/auth/v1/verify?token=pkce_3f786850e387550fdab836ed7e6dc881de23001b123456&type=magiclink&redirect_to=http://127.0.0.1:4712/callback'

const multipart = (to: string, code: string): string[] => [
  `To: ${to}`,
  'From: =?utf-8?q?B=C3=BCro?= <noreply@example.com>',
  'Subject: =?utf-8?q?Dein_Anmeldelink_=E2=80=93_Notes?=',
  'MIME-Version: 1.0',
  'Content-Type: multipart/alternative; boundary="=_part 1"',
  '',
  '--=_part 1',
  'Content-Type: text/plain; charset=utf-8',
  'Content-Transfer-Encoding: quoted-printable',
  '',
  `Gib diesen Code ein: ${code.slice(0, 3)}=`,
  `${code.slice(3)}. Er gilt 60 Minuten.`,
  '..Ein Punkt am Anfang',
  '--=_part 1',
  'Content-Type: text/html; charset=utf-8',
  'Content-Transfer-Encoding: quoted-printable',
  '',
  '<p><a href=3D"https://auth.example.com/auth/v1/verify?token=3Dpkce_3f7868=',
  '50e387550fdab836ed7e6dc881de23001b123456&amp;type=3Dmagiclink&amp;redirec=',
  't_to=3Dhttp://127.0.0.1:4712/callback">Anmelden</a></p>',
  '--=_part 1--',
]

it('reads a mail of two parts, whose code and link are broken over lines', async () => {
  await deliver('ada@example.com', multipart('ada@example.com', '481516'))
  expect(await sink.next('ada@example.com')).toMatchObject({
    subject: 'Dein Anmeldelink – Notes',
    code: '481516',
    link,
  })
})

it('gives each person their mails in the order in which they came', async () => {
  await deliver('ada@example.com', multipart('ada@example.com', '111111'))
  await deliver('eve@example.com', multipart('eve@example.com', '222222'))
  await deliver('ada@example.com', multipart('ada@example.com', '333333'))
  const codes = [await sink.next('ada@example.com'), await sink.next('ada@example.com')].map(
    ({ code }) => code,
  )
  expect(codes).toEqual(['111111', '333333'])
  expect((await sink.next('eve@example.com')).code).toBe('222222')
})

it('finds the link of a mail in HTML alone, and no code where there is none', async () => {
  await deliver('ada@example.com', [
    'To: ada@example.com',
    'Subject: Sign in',
    'Content-Type: text/html; charset=utf-8',
    '',
    `<h2>Magic link</h2><p><a href="${link.replaceAll('&', '&amp;')}">Sign in</a></p>`,
  ])
  expect(await sink.next('ada@example.com')).toMatchObject({ link, code: undefined })
})
