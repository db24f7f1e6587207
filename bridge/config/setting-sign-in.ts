import type { Repeats, SettingRow } from '@drawbridge/shared/settings/setting.ts'
import { parseSwitch, parseToken } from '@drawbridge/shared/settings/value.ts'
import { parseClientMetadata, parsePrivateKeyFile, parseStaticClient } from './config-value-file.ts'
import {
  parseAuthorizeParameter,
  parseCallback,
  parseCallbackHost,
  parseDocumentUrl,
  parseIssuer,
  parseName,
  parseResource,
  parseScope,
  type ValueSource,
} from './config-value.ts'

/** Rows of settings. The types of the values follow from the parsers. */
export type Rows = Readonly<Record<string, SettingRow<unknown, ValueSource> & { repeats?: Repeats }>>

export const signInTable = {
  token: {
    value: 'token',
    parse: parseToken,
    doc: 'Bearer token to send. It replaces the sign-in, and nothing is stored.',
    secret: true,
    notInFile: true,
  },
  profile: {
    value: 'name',
    parse: parseName,
    default: 'default',
    doc: 'Name that keeps several logins at one server apart.',
  },
  scope: {
    value: 'scopes',
    parse: parseScope,
    defaultText: 'what the server asks for',
    doc: 'Scopes to request, instead of those the server asks for.',
  },
  resource: {
    value: 'uri',
    parse: parseResource,
    defaultText: 'what the metadata of the server says',
    doc: 'The resource parameter (RFC 8707). Each resource has its own login.',
  },
  disableResourceParameter: {
    parse: parseSwitch,
    default: 'off',
    doc: 'Do not send the resource parameter, for authorization servers that refuse it.',
  },
  acceptIssuer: {
    value: 'url',
    parse: parseIssuer,
    doc: 'Issuer that the metadata may name instead of the expected one. Set it only if you know that both are one service.',
  },
  authorizeParameters: {
    name: 'authorize-param',
    value: 'name=value',
    repeats: { separator: '\n', pair: '=' },
    parse: parseAuthorizeParameter,
    doc: 'Extra parameter of the authorization request, such as audience=api.',
  },
  staticClient: {
    name: 'static-oauth-client-info',
    value: 'json|@file',
    parse: parseStaticClient,
    defaultText: 'none: the bridge registers itself',
    doc: 'A client you registered: client_id, and optionally client_secret and issuer (else the first issuer used). ${VARIABLE} is expanded.',
  },
  clientMetadata: {
    name: 'static-oauth-client-metadata',
    value: 'json|@file',
    parse: parseClientMetadata,
    doc: 'Client metadata that overrides what the bridge registers with.',
  },
  clientMetadataUrl: {
    value: 'url',
    parse: parseDocumentUrl,
    doc: 'URL of a client ID metadata document, used where the server accepts one.',
  },
  privateKey: {
    value: 'file',
    parse: parsePrivateKeyFile,
    doc: 'PEM file with the private key that authenticates the client (private_key_jwt).',
  },
  clientCredentials: {
    parse: parseSwitch,
    default: 'off',
    doc: 'Sign in as the client itself, without a person or browser. Needs --static-oauth-client-info.',
  },
  deviceCode: {
    parse: parseSwitch,
    defaultText: 'off; on where no browser can be opened and the server supports it',
    doc: 'Sign in on another device with a code. --no-open and the callback flags keep the browser link.',
  },
  useIdToken: {
    parse: parseSwitch,
    default: 'off',
    doc: 'Send the ID token instead of the access token.',
  },
  callback: {
    value: 'url',
    parse: parseCallback,
    defaultText: 'http://127.0.0.1:<free port>/oauth/callback',
    doc: 'Redirect URI, for servers that accept only one.',
  },
  host: {
    variable: 'CALLBACK_HOST',
    value: 'name',
    parse: parseCallbackHost,
    defaultText: '127.0.0.1; localhost with a port, like mcp-remote, or where a server accepts only that',
    doc: 'Host name of the redirect URI.',
  },
  open: {
    parse: parseSwitch,
    defaultText: 'on; off without a display and over SSH',
    doc: 'Whether to open a browser. The link is printed on stderr in any case.',
    negative: '--no-open',
  },
} satisfies Rows
