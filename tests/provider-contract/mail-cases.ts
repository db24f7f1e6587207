import { afterAll, beforeEach, expect, it, type TestContext } from 'vitest'
import { newAddress } from './accounts.ts'
import { claimsOf, failureOf, signedIn, valueOf } from './driver.ts'
import type { Mailbox, ReceivedMail } from './mailbox.ts'
import { skipFor, type Stage } from './stage.ts'
import { codeOf } from './wire.ts'
import { callbackUrl } from './target.ts'

/** Where the mails of the stage's server arrive, from the first case on. */
function useMailbox(stage: () => Stage): (context: TestContext) => Mailbox {
  let opened: Mailbox | string | undefined
  beforeEach(async () => {
    opened ??= await stage().server.openMailbox()
  })
  afterAll(async () => {
    if (typeof opened === 'object') await opened.close()
  })
  return (context) => {
    skipFor(context, stage().server.lacks.accounts, typeof opened === 'string' ? opened : undefined)
    return opened as Mailbox
  }
}

/** Returns the code of a mail; skips the case if the server's mails have none. */
function codeIn({ code }: ReceivedMail, context: TestContext): string {
  skipFor(
    context,
    code === undefined ? 'its mails have no code: {{ .Token }} is not in the template' : undefined,
  )
  return code ?? ''
}

const wrongCode = (right: string): string => right.replace(/.$/, (last) => (last === '0' ? '1' : '0'))

/** Cases of signing in with a mailed code or link. */
export function mailCases(stage: () => Stage): void {
  const mailbox = useMailbox(stage)

  /** Creates an account and asks for a mail to it. */
  async function mailed(context: TestContext) {
    const mails = mailbox(context)
    const { driver, server } = stage()
    const { email, id } = await server.accounts.create()
    const leg = valueOf(await driver.mailStart(email, callbackUrl))
    return { email, id, leg, mail: await mails.next(email) }
  }

  /** Opens the link of a mail, and returns what the browser brings back. */
  async function follow({ link }: ReceivedMail, context: TestContext): Promise<URLSearchParams> {
    skipFor(context, link === undefined ? 'its mails have no link' : undefined)
    const response = await stage().send(link ?? '', { redirect: 'manual' })
    expect(response.status).toBe(303)
    const back = new URL(response.headers.get('location') ?? '')
    expect(back.origin + back.pathname).toBe(callbackUrl)
    return back.searchParams
  }

  it('the code of a mail signs in, once', async (context) => {
    const { email, id, mail } = await mailed(context)
    const { accessToken } = signedIn(await stage().driver.mailVerify(email, codeIn(mail, context)))
    expect(claimsOf(accessToken)).toMatchObject({
      sub: id,
      email,
      amr: [expect.objectContaining({ method: 'otp' })],
    })
    expect(failureOf(await stage().driver.mailVerify(email, codeIn(mail, context)))).toBe('wrong_code')
  })

  it('the link of a mail signs in the client that asked for it and no other, and brings no code a second time', async (context) => {
    const { email, leg, mail } = await mailed(context)
    const other = await mailed(context)
    const params = await follow(mail, context)
    expect(failureOf(await other.leg.finish(params))).toBe('expired')
    expect(claimsOf(signedIn(await leg.finish(params)).accessToken)['email']).toBe(email)
    const again = await follow(mail, context)
    expect([again.get('code'), again.get('error_code')]).toEqual([null, 'otp_expired'])
  })

  it('a wrong code of a mail is refused, five times too, and uses up nothing', async (context) => {
    const { email, mail } = await mailed(context)
    const { driver } = stage()
    const code = codeIn(mail, context)
    for (let tries = 0; tries < 5; tries += 1) {
      expect(failureOf(await driver.mailVerify(email, wrongCode(code)))).toBe('wrong_code')
    }
    expect(failureOf(await driver.mailVerify(newAddress(), code))).toBe('wrong_code')
    expect(failureOf(await driver.mailVerify(email, code))).toBe('none')
  })

  it('the code of an older mail is refused', async (context) => {
    const { email, mail } = await mailed(context)
    const { driver, server } = stage()
    const older = codeIn(mail, context)
    server.levers?.putAhead(61)
    try {
      if (!server.levers) await new Promise((resolve) => setTimeout(resolve, 1100))
      const asked = failureOf(await driver.mailStart(email, callbackUrl))
      skipFor(
        context,
        asked === 'mail_limited' ? 'more than a second between mails: GOTRUE_SMTP_MAX_FREQUENCY' : undefined,
      )
      expect(asked).toBe('none')
    } finally {
      server.levers?.putAhead(0)
    }
    const newer = codeIn(await mailbox(context).next(email), context)
    expect(failureOf(await driver.mailVerify(email, older))).toBe('wrong_code')
    expect(failureOf(await driver.mailVerify(email, newer))).toBe('none')
  })

  it('the code and the link of a mail are one: using either uses up the other', async (context) => {
    const { email, mail } = await mailed(context)
    const code = codeIn(mail, context)
    expect((await follow(mail, context)).get('code')).toBeTruthy()
    expect(failureOf(await stage().driver.mailVerify(email, code))).toBe('wrong_code')
    const other = await mailed(context)
    signedIn(await stage().driver.mailVerify(other.email, codeIn(other.mail, context)))
    expect((await follow(other.mail, context)).get('error_code')).toBe('otp_expired')
  })

  it('any code or link of a mail is refused once its account is banned, with that reason', async (context) => {
    const { server, wire } = stage()
    skipFor(context, server.lacks.admin)
    const { email, id, mail } = await mailed(context)
    await server.accounts.ban(id)
    for (const token of [wrongCode(codeIn(mail, context)), codeIn(mail, context)]) {
      const refused = await wire('POST', '/verify', { body: { type: 'email', email, token } })
      expect([refused.status, codeOf(refused)]).toEqual([403, 'user_banned'])
    }
    const back = await follow(mail, context)
    expect([back.get('code'), back.get('error_code')]).toEqual([null, 'user_banned'])
  })

  it('another mail at once is refused by a limit', async (context) => {
    const { email } = await mailed(context)
    expect(failureOf(await stage().driver.mailStart(email, callbackUrl))).toBe('mail_limited')
  })

  it('a mail to an address without an account is not sent, and makes none', async (context) => {
    mailbox(context)
    const { driver, server } = stage()
    const email = newAddress()
    expect(failureOf(await driver.mailStart(email, callbackUrl))).toBe('invalid_credentials')
    expect((await server.accounts.create({ email })).email).toBe(email)
  })
}
