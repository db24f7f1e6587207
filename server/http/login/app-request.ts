import { askedScope } from '../../core/sign-in/sign-in-transaction.ts'
import type { Language } from '../../texts/language.ts'
import { fillText } from '../../texts/text.ts'
import { describeScope } from '../describe-scope.ts'
import type { ClientView } from '../pages/client-facts.ts'
import { claimedName } from '../pages/names.ts'
import type { SubjectView } from '../pages/sign-in-subject.ts'
import { subjectView } from './draw.ts'
import type { SignInVisit } from './login-subject.ts'

const purposes = { authorization: 'client', device: 'device', account: 'connections' }

/** Describes a sign-in for the web app's own page: facts, and ready sentences in the language of the sign-in. */
export function describeAppRequest(visit: SignInVisit, expiresAt: number): object {
  const { subject, language, ports } = visit
  const view = subjectView(visit, true)
  const client = view.kind === 'account' ? undefined : view.client
  const scopes = subject.kind === 'account' ? [] : askedScope(subject).split(' ')
  return {
    client: client
      ? {
          name: claimedName(client.name, language.texts.common.noName),
          verified: client.verifiedHost !== undefined || client.vouched === true,
          host: client.verifiedHost ?? client.describedBy ?? null,
        }
      : null,
    returns_to: view.kind === 'authorization' ? view.redirectHost : null,
    purpose: purposes[view.kind],
    sentences: sentencesOf(view, ports.app.appName, language),
    scopes: scopes.flatMap((value) => {
      const fixed = subject.boxes?.some(({ scope }) => scope === value) !== true
      return describeScope(value, ports.scopes, language).map((text) => ({ value, text, fixed }))
    }),
    expires_at: new Date(expiresAt * 1000).toISOString(),
  }
}

/** Says who asks, how far that is proven, where the browser returns, and how long it lasts. */
function sentencesOf(view: SubjectView, app: string, language: Language): string[] {
  const { appSignIn: texts, subject, token } = language.texts
  if (view.kind === 'account') {
    const { tokenName: name } = view
    if (name === undefined) return [fillText(subject.accountAsk, { app })]
    return [fillText(token.signInAsk, { app, name: quoted(name, language) })]
  }
  const who = clientSentences(view.client, app, language)
  const lasting = view.permissions.slice(-1).map((text) => `${text}.`)
  if (view.kind === 'device') {
    const address = view.isLocal ? subject.thisComputer : (view.address ?? subject.unknownAddress)
    const device = fillText(texts.device, { code: view.userCode, address, asked: view.asked })
    return [...who, device, subject.deviceWarning, ...lasting]
  }
  const returns = view.returnsToThisComputer
    ? subject.loopbackWarning
    : fillText(texts.returnsTo, { host: view.redirectHost })
  return [...who, returns, ...lasting]
}

function clientSentences(
  { name, verifiedHost, describedBy, vouched }: ClientView,
  app: string,
  language: Language,
): string[] {
  const { appSignIn: texts } = language.texts
  if (verifiedHost !== undefined) return [fillText(texts.verified, { host: verifiedHost, app })]
  const who = fillText(vouched ? texts.vouched : texts.unverified, { name: quoted(name, language), app })
  if (vouched || describedBy === undefined) return [who]
  return [who, fillText(texts.claims, { host: describedBy })]
}

function quoted(name: string, { texts: { common } }: Language): string {
  return fillText(common.quoted, { name: claimedName(name, common.noName) })
}
