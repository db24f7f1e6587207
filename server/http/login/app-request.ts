import { askedScope } from '../../core/sign-in/sign-in-transaction.ts'
import type { Language } from '../../texts/language.ts'
import { fillText } from '../../texts/text.ts'
import { describeScope } from '../describe-scope.ts'
import type { ClientView } from '../pages/client-facts.ts'
import { claimedName } from '../pages/names.ts'
import type { DeviceView, RequestView } from '../pages/sign-in-subject.ts'
import { subjectView } from './draw.ts'
import type { SignInVisit } from './login-subject.ts'

/** Describes a sign-in for the web app's own page: facts, and ready sentences in the language of the sign-in. */
export function describeAppRequest(visit: SignInVisit, expiresAt: number): object {
  const { subject, language, ports } = visit
  const view = subjectView(visit, true)
  const common = { expires_at: new Date(expiresAt * 1000).toISOString() }
  if (view.kind === 'account' || subject.kind === 'account') {
    const { subject: texts, token, common } = language.texts
    const name = view.kind === 'account' ? view.tokenName : undefined
    const quoted =
      name === undefined ? '' : fillText(common.quoted, { name: claimedName(name, common.noName) })
    const sentence = fillText(name === undefined ? texts.accountAsk : token.signInAsk, {
      app: ports.app.appName,
      name: quoted,
    })
    return {
      client: null,
      returns_to: null,
      purpose: 'connections',
      sentences: [sentence],
      scopes: [],
      ...common,
    }
  }
  const { name, verifiedHost, describedBy, vouched } = view.client
  return {
    client: {
      name: claimedName(name, language.texts.common.noName),
      verified: verifiedHost !== undefined || vouched === true,
      host: verifiedHost ?? describedBy ?? null,
    },
    returns_to: view.kind === 'authorization' ? view.redirectHost : null,
    purpose: view.kind === 'authorization' ? 'client' : 'device',
    sentences: sentencesOf(view, ports.app.appName, language),
    scopes: askedScope(subject)
      .split(' ')
      .flatMap((value) => {
        const [text] = describeScope(value, ports.codes.scopes, language)
        const fixed = subject.boxes?.some(({ scope }) => scope === value) !== true
        return text === undefined ? [] : { value, text, fixed }
      }),
    ...common,
  }
}

/** Says who asks, how far that is proven, where the browser returns, and how long it lasts. */
function sentencesOf(view: RequestView | DeviceView, app: string, language: Language): string[] {
  const { appSignIn: texts, subject } = language.texts
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
  { texts: { appSignIn: texts, common } }: Language,
): string[] {
  if (verifiedHost !== undefined) return [fillText(texts.verified, { host: verifiedHost, app })]
  const quoted = fillText(common.quoted, { name: claimedName(name, common.noName) })
  if (vouched) return [fillText(texts.vouched, { name: quoted, app })]
  const unverified = fillText(texts.unverified, { name: quoted, app })
  return describedBy === undefined
    ? [unverified]
    : [unverified, fillText(texts.claims, { host: describedBy })]
}
