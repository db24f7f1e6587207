import { requirementDocument } from '../requirement.ts'
import { mcpAuthSecurity } from './mcp-auth-security.ts'
import { core, e2e, edge, flow, http, negative } from './proof.ts'

/** The authorization chapter. Sections have its own headings. */
export const mcpAuth = requirementDocument('MCP auth', 'Model Context Protocol 2026-07-28, Authorization', [
  [
    'Overview',
    'OAuth 2.1 for public clients and for confidential ones, by both ways to send a secret.',
    'server/core/client-authentication.ts',
    e2e('openid-client', 'goes the whole way, every check on'),
  ],
  [
    'Overview',
    'The authorization server publishes RFC 8414 metadata, and the same under the OpenID names.',
    'server/http/metadata.ts',
    http('metadata', 'RFC 8414: %s is the one authorization server document'),
  ],
  [
    'Overview',
    'Dynamic registration is there for clients that need it, and can be switched off.',
    'server/http/register.ts',
    http('register', 'REGISTRATION off: there is no such endpoint, and no word of it in the metadata'),
  ],
  [
    'Authorization-Server-Location',
    'The resource metadata names the authorization server.',
    'server/http/metadata.ts',
    http('metadata', 'RFC 9728: %s is the one resource document, without offline_access'),
  ],
  [
    'Protected-Resource-Metadata',
    'It is under the path of `/mcp` and at the root.',
    'server/http/metadata.ts',
    http('metadata', 'RFC 9728: %s is the one resource document, without offline_access'),
  ],
  [
    'Protected-Resource-Metadata',
    'The challenge names its address.',
    'server/http/mcp.ts',
    negative.resource('RFC 9728 5.1: no credential at all'),
  ],
  [
    'Authorization-Server-Metadata',
    'For a base URL with a path: inserted and appended, `issuer` the same everywhere.',
    'server/http/metadata.ts',
    http('metadata', 'discovery of a base URL with a path'),
  ],
  [
    'Client-ID-Metadata-Documents',
    'Support is said in the metadata, together with the method `none` that clients look for.',
    'server/http/metadata.ts',
    negative.resource('MCP auth Client-ID-Metadata-Documents: said together with the method none'),
  ],
  [
    'Client-ID-Metadata-Documents',
    'A client whose id is a URL is known by the document there, without registration.',
    'server/core/client-finder.ts',
    edge('open-clients', 'signs in without registration, and refreshes while its host is away for months'),
  ],
  [
    'Client-ID-Metadata-Documents',
    'The `client_id` of a document is its URL, byte for byte.',
    'server/core/client-id-metadata-document.ts',
    core(
      'client-id-metadata-document',
      'property: whoever serves a document gets a client of that URL alone',
    ),
  ],
  [
    'Client-ID-Metadata-Documents',
    'A document is a JSON object with `client_id`, `client_name` and `redirect_uris`.',
    'server/core/client-id-metadata-document.ts',
    core('client-id-metadata-document', 'is invalid: %s'),
  ],
  [
    'Client-ID-Metadata-Documents',
    'The redirect URI of a request is one of the document.',
    'server/core/authorization-request.ts',
    flow('CIMD 4.5: returns to an address of the document alone'),
  ],
  [
    'Client-ID-Metadata-Documents',
    'Documents are cached for as long as HTTP says.',
    'server/core/client-document-life.ts',
    core('client-finder', 'for as long as the host says'),
  ],
  [
    'Client-ID-Metadata-Documents',
    'A client of a document may prove itself by `private_key_jwt`, with keys of its own host.',
    'server/core/client-assertion.ts',
    edge('open-clients', 'proves itself with private_key_jwt, keys from its jwks_uri, each assertion once'),
  ],
  [
    'Pre-registration',
    'The operator can give clients of its own, with or without a secret.',
    'server/client-file.ts',
    edge('open-clients', 'CLIENTS: a confidential client signs in with its secret'),
  ],
  [
    'Dynamic-Client-Registration',
    '`application_type` is accepted of every client.',
    'server/core/client-registration.ts',
    core('client-registration', 'application_type changes nothing'),
  ],
  [
    'Scope-Selection-Strategy',
    'The challenge names the scope to ask for.',
    'server/http/mcp.ts',
    negative.resource(
      'MCP auth Scope-Selection-Strategy: the challenge names a scope, and not offline_access',
    ),
  ],
  [
    'Scope-Selection-Strategy',
    'A client that goes by the challenge asks for that scope, and for this resource.',
    'server/core/scope.ts',
    e2e('sdk-2025', 'asks for the resource and the scope that the challenge names'),
  ],
  [
    'Authorization-Response-Validation',
    '`iss` is in every good answer, also in one that goes to an app by a page.',
    'server/http/authorization-response.ts',
    flow('RFC 9207 2: a page that leads to an app by its own scheme names the issuer, too'),
  ],
  [
    'Authorization-Response-Validation',
    '`iss` is in every error answer.',
    'server/http/authorization-response.ts',
    http('authorize', '%s goes back to the client with state and iss (RFC 9207)'),
  ],
  [
    'Authorization-Response-Validation',
    'That `iss` comes is said in the metadata, so that clients insist on it.',
    'server/http/metadata.ts',
    negative.resource('RFC 9207 3: that iss comes is said'),
  ],
  [
    'Canonical-Server-URI',
    'Upper-case scheme and host, a trailing slash and the bare origin are taken for the resource.',
    'server/core/resource.ts',
    core('resource', 'isOurResource (RFC 8707 section 2)'),
  ],
  [
    'Canonical-Server-URI',
    'The resource itself is named without a trailing slash.',
    'server/http/metadata.ts',
    http('metadata', 'RFC 9728: %s is the one resource document, without offline_access'),
  ],
  [
    'Access-Token-Usage',
    'A token in the query is not looked at.',
    'server/http/mcp.ts',
    negative.resource('RFC 6750 2.3: a token in the query'),
  ],
  [
    'Access-Token-Usage',
    'Each request proves itself: a bad header is refused whatever cookie comes with it.',
    'server/http/mcp.ts',
    http('mcp', 'never helps a bad header: %s is 401'),
  ],
  [
    'Token-Handling',
    'The token is looked at before anything else of the request.',
    'server/http/mcp.ts',
    negative.resource('MCP auth Token-Handling: the token is looked at before the message'),
  ],
  [
    'Token-Handling',
    'An expired or unknown token is 401 with a challenge.',
    'server/core/caller.ts',
    negative.resource('RFC 6750 3.1: an access token after its hour'),
  ],
  [
    'Token-Handling',
    'A token of ours is never shown to the provider or anybody else.',
    'server/core/caller.ts',
    core('caller', 'MCP authorization, token passthrough: %s is never shown to the provider'),
  ],
  [
    'Refresh-Tokens',
    'A client gets a refresh token unless it registered without that grant type.',
    'server/core/token-issue.ts',
    http('token', 'a client registered without refresh_token gets none'),
  ],
  [
    'Refresh-Tokens',
    'The resource metadata does not name `offline_access`.',
    'server/core/scope.ts',
    negative.resource('MCP auth Refresh-Tokens: offline_access is no scope of the resource'),
  ],
  [
    'Error-Handling',
    'A token without the scope is 403, and not 401.',
    'server/http/mcp.ts',
    http('mcp', 'a token without the scope of the tools gets 403 with the scope that is missing'),
  ],
  [
    'Scope-Challenge-Handling',
    '403 with `insufficient_scope`, the resource metadata and every scope that the operation takes, at once.',
    'server/http/mcp.ts',
    http('mcp-scope', 'is asked for (RFC 6750 section 3.1, MCP step-up)'),
  ],
  [
    'Step-Up',
    'With the scope that was asked for the same call works.',
    'server/http/mcp.ts',
    http('mcp-scope', 'works once the scope was granted'),
  ],
  [
    'Step-Up',
    'A scope that opens a tool brings the one along that opens `/mcp`, so that a broader token is never too narrow.',
    'server/core/scope.ts',
    core('scope', 'are granted to whoever asks for them, and to nobody else'),
  ],

  ...mcpAuthSecurity,
])
