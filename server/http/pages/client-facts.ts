import { html, type SafeHtml } from '@drawbridge/shared/html.ts'
import type { Language } from '../../texts/language.ts'
import { fillText } from '../../texts/text.ts'
import { hostName, quotedName } from './names.ts'
import { checkGlyph } from './drawings.ts'
import { fact } from './layout.ts'
import { isUrl } from '@drawbridge/shared/url.ts'

/**
 * The requesting client as shown on every page. `name` and `uri` are its own claims.
 *
 * `verifiedHost` is set only when the client is proven to belong to that host; `describedBy` is the host of a metadata document
 * that any program or device can name, or with `returnsElsewhere` one that leads to another host. `vouched`: the operator
 * configured this client, name included.
 */
export interface ClientView {
  name: string
  uri?: string
  verifiedHost?: string
  describedBy?: string
  returnsElsewhere?: boolean
  vouched?: boolean
}

/** Renders the host of the client, before its name: proven or not, it says more than a self-declared name. */
export function hostFact(
  { verifiedHost, describedBy, returnsElsewhere }: ClientView,
  { texts: { client: texts } }: Language,
): SafeHtml | false {
  if (verifiedHost !== undefined) {
    const note = html`<span class="note">${checkGlyph} ${texts.verified}</span>`
    return fact(texts.requestedBy, html`${hostName(verifiedHost)} ${note}`)
  }
  if (describedBy === undefined) return false
  const note = returnsElsewhere
    ? html`<span class="note">${texts.returnsElsewhere}</span>`
    : html` <span class="note">${texts.anyoneCanClaim}</span>`
  return fact(texts.saysItBelongsTo, html`<span class="address">${describedBy}</span>${note}`)
}

/** Renders the name of the client: quoted, with a note on its source unless its host is proven. */
export function nameFact(client: ClientView, language: Language): SafeHtml {
  const texts = language.texts.client
  const note = client.vouched
    ? texts.setUpByOperator
    : client.verifiedHost === undefined && texts.unverifiedName
  return html`<div>
    <dt>${client.vouched ? texts.knownAs : texts.callsItself}</dt>
    <dd class="claim">
      ${quotedName(client.name, language)}${note && html` <span class="note">${note}</span>`}
    </dd>
  </div>`
}

/** Renders a link to the client's own page, only if it lies on the proven host of the client. */
export function aboutClient(client: ClientView, { texts }: Language): SafeHtml | false {
  if (client.uri === undefined || client.verifiedHost === undefined || !isUrl(client.uri)) return false
  const page = new URL(client.uri)
  if (page.protocol !== 'https:' || page.host !== client.verifiedHost) return false
  return html`<p>
    <a class="link alone" href="${page.href}" rel="noreferrer"
      >${fillText(texts.client.about, { host: page.host })}</a
    >
  </p>`
}
