import type { IssuerQuirks } from '../../credentials/credential.ts'
import type { RefreshAnswer, TokenAnswer } from './token-response.ts'

/** What a token request would carry, as far as issuers differ about it. */
export interface OptionalParameters {
  resource: string | undefined
  /** Sent only to those who want it. */
  scope: string | undefined
}

/**
 * Sends a token request the way its issuer wants it, and once more the other way when the refusal says so: without
 * `resource`, with `scope`. Such a refusal spends nothing. What helped is in the quirks of the answer, with all that were
 * known; what did not help is not.
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
  // Entra: the resource does not match the scopes, and with resource it has to be another form of it.
  const isAboutResource = error === 'invalid_target' || /\bAADSTS9010010\b/.test(description)
  if (isAboutResource && sent.resource !== undefined) return { refusesResource: true }
  const isAboutScope = /\bAADSTS90009\b/.test(description)
  if (isAboutScope && sent.scope === undefined && parameters.scope !== undefined) {
    return { wantsScopeAtRefresh: true }
  }
  return undefined
}
