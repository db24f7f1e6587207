import { requirementDocument } from '../requirement.ts'
import { core, e2e, flow, http, negative, shared } from './proof.ts'

/** How tokens travel. */
export const bearer = requirementDocument('RFC 6750', 'Bearer Token Usage', [
  [
    '2.1',
    'A token comes in the header, with the scheme Bearer.',
    'server/core/caller.ts',
    http('mcp', 'the scheme is not case-sensitive'),
  ],
  [
    '2.1',
    'What is no scheme and one token is refused.',
    'server/core/caller.ts',
    core('caller', 'two headers joined'),
  ],
  [
    '2.1',
    'A bearer token is no proof of a client.',
    'server/http/client-authentication.ts',
    negative.client('RFC 6750 2.1: a bearer token is no proof of a client'),
  ],
  [
    '2.2',
    'A token in a form is not looked at.',
    'server/http/mcp.ts',
    negative.resource('RFC 6750 2.2: a token in a form'),
  ],
  [
    '2.3',
    'A token in the query is not looked at.',
    'server/http/mcp.ts',
    negative.resource('RFC 6750 2.3: a token in the query'),
  ],
  [
    '3',
    'Every 401 has a challenge, which pages can read.',
    'server/http/mcp.ts',
    http('mcp', '%s without a credential: a challenge without an error'),
  ],
  [
    '3',
    'A challenge holds allowed characters only.',
    'shared/www-authenticate.ts',
    shared('www-authenticate', 'can always be put in a header and is read back'),
  ],
  [
    '3.1',
    'An unknown token is 401 `invalid_token`.',
    'server/core/caller.ts',
    negative.resource('RFC 6750 3.1: an unknown token'),
  ],
  [
    '3.1',
    'So is one that has expired.',
    'server/core/caller.ts',
    negative.resource('RFC 6750 3.1: an access token after its hour'),
  ],
  [
    '3.1',
    'So is one that was revoked.',
    'server/core/revocation.ts',
    negative.revocation('RFC 7009 2.1: with a refresh token everything of the connection is over'),
  ],
  [
    '3.1',
    'A missing scope is 403 `insufficient_scope`, with the scope.',
    'server/http/mcp.ts',
    http('mcp', 'a token without the scope of the tools gets 403 with the scope that is missing'),
  ],
  [
    '5.3',
    'Tokens are short-lived.',
    'server/core/token-life.ts',
    http('mcp', 'an access token ends after an hour'),
  ],
])

/** For what a token is. */
export const resourceIndicators = requirementDocument('RFC 8707', 'Resource Indicators', [
  [
    '2',
    'A resource is an absolute URI without a fragment, else `invalid_target`.',
    'server/core/resource.ts',
    negative.authorization('RFC 8707 2: a fragment'),
  ],
  [
    '2',
    'A resource that is not ours is `invalid_target`, whatever it resembles.',
    'server/core/resource.ts',
    negative.authorization('RFC 8707 2: our host as user name'),
  ],
  [
    '2',
    'Devices name it, too.',
    'server/core/device-authorization.ts',
    negative.device('RFC 8707 2: a foreign resource'),
  ],
  [
    '2.1',
    'Of several resources all are ours.',
    'server/core/resource.ts',
    negative.authorization('RFC 8707 2.1: a foreign resource beside ours'),
  ],
  [
    '2.1',
    'Spellings of ours become the one in the grant.',
    'server/core/authorization-request.ts',
    core('authorization-request', 'RFC 8707: several spellings of ours become the canonical one'),
  ],
  [
    '2.2',
    'The token request is checked as well, before the code is used.',
    'server/core/authorization-code.ts',
    negative.token('RFC 8707 2.2: a foreign resource'),
  ],
  [
    '2.2',
    'At a refresh the resource may be named, or left out.',
    'server/core/refresh-token.ts',
    core('refresh-token', 'RFC 8707 2.2: accepts the resource %j'),
  ],
])

/** Who has answered. */
export const issuerIdentification = requirementDocument(
  'RFC 9207',
  'Authorization Server Issuer Identification',
  [
    [
      '2',
      '`iss` is in every good answer.',
      'server/http/authorization-response.ts',
      flow('RFC 9207 2: a page that leads to an app by its own scheme names the issuer, too'),
    ],
    [
      '2',
      '`iss` is in every error answer.',
      'server/http/authorization-response.ts',
      http('authorize', '%s goes back to the client with state and iss (RFC 9207)'),
    ],
    [
      '2.4',
      'It is the issuer of the metadata, byte for byte: clients that insist are content.',
      'server/http/authorization-response.ts',
      e2e('openid-client', 'goes the whole way, every check on'),
    ],
    [
      '3',
      'The metadata says that it comes.',
      'server/http/metadata.ts',
      negative.resource('RFC 9207 3: that iss comes is said'),
    ],
  ],
)

/** What the resource says about itself. */
export const resourceMetadata = requirementDocument('RFC 9728', 'OAuth 2.0 Protected Resource Metadata', [
  [
    '2',
    'The document names the resource, its authorization server, scopes and where a token belongs.',
    'server/http/metadata.ts',
    http('metadata', 'RFC 9728: %s is the one resource document, without offline_access'),
  ],
  [
    '2',
    'A token belongs into the header.',
    'server/http/metadata.ts',
    negative.resource('RFC 9728 2: a token belongs into the header'),
  ],
  [
    '2',
    'Scopes of tools are in it.',
    'server/core/scope.ts',
    http('mcp-scope', 'are in the metadata of the resource (RFC 9728 section 2)'),
  ],
  [
    '3.1',
    'It is found with the path of the resource inserted, whatever token comes along.',
    'server/http/metadata.ts',
    negative.resource('RFC 9728 3.1: a bad token does not hide it'),
  ],
  [
    '3.1',
    'Another resource is not here.',
    'server/http/metadata.ts',
    negative.resource('RFC 9728 3.1: a resource that is not here'),
  ],
  [
    '3.3',
    'The resource is configuration, and not what a header says.',
    'server/http/metadata.ts',
    negative.resource('RFC 9728 3.3: forwarding headers do not change the resource'),
  ],
  [
    '4',
    'The authorization server names its resource.',
    'server/http/metadata.ts',
    http('metadata', 'RFC 8414: %s is the one authorization server document'),
  ],
  [
    '5.1',
    'The challenge leads to the document, for every method.',
    'server/http/mcp.ts',
    negative.resource('RFC 9728 5.1: GET without a credential'),
  ],
])

/** What the authorization server says about itself. */
export const serverMetadata = requirementDocument('RFC 8414', 'OAuth 2.0 Authorization Server Metadata', [
  [
    '2',
    'Every endpoint, method and algorithm that is there is in it, and nothing else.',
    'server/http/metadata.ts',
    http('metadata', 'RFC 8414: %s is the one authorization server document'),
  ],
  [
    '2',
    'Introspection is not offered to clients without credentials.',
    'server/http/metadata.ts',
    negative.resource('RFC 8414 2: introspection is not for public clients'),
  ],
  [
    '2',
    'What is switched off is not in it.',
    'server/http/metadata.ts',
    http('metadata', 'names no registration and no client documents'),
  ],
  [
    '3',
    'Under the well-known names alone; everything else is 404.',
    'server/http/metadata.ts',
    negative.resource('RFC 8414 3: another suffix is not found, as JSON'),
  ],
  [
    '3.1',
    'By GET, for everybody.',
    'server/http/metadata.ts',
    negative.resource('RFC 8414 3.1: a bad token does not hide it'),
  ],
  [
    '3.1',
    'With the path of the issuer inserted.',
    'server/http/metadata.ts',
    http('metadata', 'discovery of a base URL with a path'),
  ],
  [
    '3.2',
    'As JSON.',
    'server/http/metadata.ts',
    http('metadata', 'RFC 8414: %s is the one authorization server document'),
  ],
  [
    '3.3',
    '`issuer` is the configured one, whatever headers say.',
    'server/http/metadata.ts',
    negative.resource('RFC 8414 3.3: forwarding headers do not change the issuer'),
  ],
])
