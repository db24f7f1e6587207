import { html, type SafeHtml } from '@drawbridge/shared/html.ts'
import { claimedName, hostName } from './names.ts'
import { checkGlyph } from './drawings.ts'

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
export function hostFact({ verifiedHost, describedBy, returnsElsewhere }: ClientView): SafeHtml | false {
  if (verifiedHost !== undefined) {
    return html`<div>
      <dt>Requested by</dt>
      <dd>
        ${hostName(verifiedHost)}
        <span class="note">${checkGlyph} Verified address</span>
      </dd>
    </div>`
  }
  if (describedBy === undefined) return false
  return html`<div>
    <dt>Says it belongs to</dt>
    <dd>
      <span class="address">${describedBy}</span>${
        returnsElsewhere
          ? html`<span class="note">, but it returns to a different address</span>`
          : html` <span class="note">Any program can claim this</span>`
      }
    </dd>
  </div>`
}

/** Renders the name of the client: quoted, with a note on its source unless its host is proven. */
export function nameFact(client: ClientView): SafeHtml {
  const note = client.vouched
    ? 'Set up by the server’s operator'
    : client.verifiedHost === undefined && 'This name is not verified'
  return html`<div>
    <dt>${client.vouched ? 'Known here as' : 'Calls itself'}</dt>
    <dd class="claim">
      “<bdi>${claimedName(client.name)}</bdi>”${note && html` <span class="note">${note}</span>`}
    </dd>
  </div>`
}

/** Renders a link to the client's own page, only if it lies on the proven host of the client. */
export function aboutClient(client: ClientView): SafeHtml | false {
  if (client.uri === undefined || client.verifiedHost === undefined || !URL.canParse(client.uri)) return false
  const page = new URL(client.uri)
  if (page.protocol !== 'https:' || page.host !== client.verifiedHost) return false
  return html`<p><a class="link alone" href="${page.href}" rel="noreferrer">About ${page.host}</a></p>`
}
