import { requirementDocument } from '../requirement.ts'
import { core, edge, flow, http, negative } from './proof.ts'

/** Clients that describe themselves at an address of their own. */
export const clientDocuments = requirementDocument('CIMD', 'OAuth Client ID Metadata Document, draft 00', [
  [
    '3',
    'An id is an https URL with a path, without fragment, user information or dot segments.',
    'server/core/client-id-metadata-document.ts',
    core('client-id-metadata-document', 'MUST NOT contain a fragment'),
  ],
  [
    '3',
    'It has one spelling, and may have a port.',
    'server/core/client-id-metadata-document.ts',
    core('client-id-metadata-document', 'property: one URL has one accepted spelling'),
  ],
  [
    '4',
    'The document is fetched when a client asks.',
    'server/core/client-finder.ts',
    core('client-finder', 'fetches the document that an id names, at most 5 kB'),
  ],
  [
    '4.1',
    'Its `client_id` is the URL, as a text.',
    'server/core/client-id-metadata-document.ts',
    core(
      'client-id-metadata-document',
      'property: whoever serves a document gets a client of that URL alone',
    ),
  ],
  [
    '4.1',
    'Members that are unknown are ignored.',
    'server/core/client-id-metadata-document.ts',
    core('client-id-metadata-document', 'describes the client'),
  ],
  [
    '4.1',
    'No shared secret, in no form.',
    'server/core/client-id-metadata-document.ts',
    core('client-id-metadata-document', 'client_secret MUST NOT be there, even as null'),
  ],
  [
    '4.1',
    'No way to authenticate that is based on one.',
    'server/core/client-id-metadata-document.ts',
    core('client-id-metadata-document', 'MUST NOT use client_secret_jwt'),
  ],
  [
    '4.1',
    'It is JSON by its type, and comes with 200.',
    'server/guarded-fetch-response.ts',
    edge('guarded-fetch', 'fails on %s'),
  ],
  [
    '4.3',
    'While its document cannot be had, and none is kept, a client signs nobody in.',
    'server/http/authorize.ts',
    http('login-safety', 'GET /oauth/authorize: 503 and a page with the next step'),
  ],
  [
    '4.4',
    'Lives of documents follow HTTP, between 30 seconds and a day.',
    'server/core/client-document-life.ts',
    core('client-document-life', 'not less than 30 seconds: max-age=0'),
  ],
  [
    '4.4',
    'A faulty document takes the place of no good one.',
    'server/core/client-finder.ts',
    core('client-finder', 'a document that became faulty counts as an outage'),
  ],
  [
    '4.5',
    'The redirect URI of a request is one of the document.',
    'server/core/authorization-request.ts',
    flow('CIMD 4.5: returns to an address of the document alone'),
  ],
  [
    '5',
    'Support is said in the metadata.',
    'server/http/metadata.ts',
    negative.resource('MCP auth Client-ID-Metadata-Documents: said together with the method none'),
  ],
  [
    '6',
    'Nothing inside the network is fetched.',
    'server/guarded-fetch-address.ts',
    edge('guarded-fetch', 'an address or local name in the URL is never reached: %s'),
  ],
  [
    '6.2',
    'A client that has keys proves to have them.',
    'server/core/client-authentication.ts',
    edge('open-clients', 'proves itself with private_key_jwt, keys from its jwks_uri, each assertion once'),
  ],
  [
    '6.3',
    'Keys that change are fetched again.',
    'server/core/client-keys.ts',
    core('client-keys', 'an unknown kid fetches again, at most every 30 seconds'),
  ],
  [
    '6.4',
    'The page shows the host of the client id.',
    'server/http/client-view.ts',
    http('login-safety', 'is shown by its host, verified'),
  ],
  [
    '6.5',
    'Addresses are checked after the name is resolved, and the checked one is used.',
    'server/guarded-fetch.ts',
    edge('guarded-fetch', 'DNS rebinding: the connection goes to what was checked'),
  ],
  [
    '6.5',
    'Schemes other than https are not fetched.',
    'server/guarded-fetch.ts',
    edge('guarded-fetch', 'only https, and no credentials: %s'),
  ],
  [
    '6.5',
    'So many fetches a minute, for one host and for all.',
    'server/core/client-fetch-limit.ts',
    core('client-fetch-limit', 'so many to all hosts in a minute'),
  ],
  [
    '6.6',
    'A document has at most 5 kB.',
    'server/guarded-fetch-response.ts',
    edge('guarded-fetch', 'a body without end'),
  ],
  [
    '6.7',
    'Logos are neither fetched nor shown.',
    'server/http/pages/layout.ts',
    edge('http/pages/layout', 'reaches for no address but the ones it was given'),
  ],
])
