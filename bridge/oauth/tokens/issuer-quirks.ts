import type { IssuerQuirks } from '../../credentials/credential.ts'
import type { RefreshAnswer, TokenAnswer } from './token-response.ts'

/** Parameters of a token request on which issuers differ. */
export interface OptionalParameters {
  resource: string | undefined
  /** Sent only to issuers that require it. */
  scope: string | undefined
}

/**
 * Sends a token request in the form that its issuer is known to want, and repeats it in the other form when the
 * refusal suggests it: without `resource`, or with `scope`. Such a refusal uses up no token. The quirks of the result
 * include all earlier ones and the form that worked, but none that failed.
 */
export async function sendWithQuirks(
  parameters: OptionalParameters,
  known: IssuerQuirks | undefined,
  send: (parameters: OptionalParameters) => Promise<TokenAnswer>,
): Promise<RefreshAnswer> {
  const quirks: IssuerQuirks = { ...known }
  for (;;) {
    const sent = {
      resource: quirks.refusesResource === true ? undefined : parameters.resource,
      scope: quirks.wantsScopeAtRefresh === true ? parameters.scope : undefined,
    }
    const answer = await send(sent)
    if (answer.kind === 'issued') return { answer, quirks }
    const learned = learnFrom(answer, sent, parameters)
    if (learned === undefined) return { answer, quirks: { ...known } }
    Object.assign(quirks, learned)
  }
}

function learnFrom(
  answer: TokenAnswer,
  sent: OptionalParameters,
  parameters: OptionalParameters,
): IssuerQuirks | undefined {
  if (answer.kind !== 'refused') return undefined
  const { error, description = '' } = answer
  // Entra: the resource does not match the scopes and has to be written differently when sent.
  const isAboutResource = error === 'invalid_target' || /\bAADSTS9010010\b/.test(description)
  if (isAboutResource && sent.resource !== undefined) return { refusesResource: true }
  const isAboutScope = /\bAADSTS90009\b/.test(description)
  if (isAboutScope && sent.scope === undefined && parameters.scope !== undefined) {
    return { wantsScopeAtRefresh: true }
  }
  return undefined
}
