import type {
  acceptedContent,
  CallToolResult,
  completable,
  fromJsonSchema,
  inputRequired,
  inputResponse,
  LoggingLevel,
  McpServer,
  requireScopes,
  ResourceTemplate,
  StandardSchemaWithJSON,
  Tool,
} from '@modelcontextprotocol/server'
import type { CredentialKind } from '../../core/tokens/caller.ts'
import type { User, Workspace } from '../../core/session/grant.ts'

/**
 * The exports of the file named by TOOLS; `tools` or `register` is required, the rest is optional.
 *
 * @example
 * export const tools = [
 *   {
 *     name: 'list_orders',
 *     description: "Lists the user's orders, newest first.",
 *     async call(input, { user }) {
 *       return { content: [{ type: 'text', text: await ordersOf(user.sub) }] }
 *     },
 *   },
 * ]
 */
export interface ToolModule {
  /** The catalogue: the same for everyone, in this order. */
  tools?: readonly ToolDeclaration[]
  /**
   * Scopes in addition to `mcp` that clients may ask for, each with the description that people read on the login
   * page.
   */
  scopes?: Readonly<Record<string, string>>
  /**
   * The scope of each tool that names none itself, by pattern: `*` matches any characters. `@writes` in the place of a pattern
   * matches every tool that is not marked `readOnlyHint`, and not public. The first match counts.
   *
   * @example
   * export const toolScopes = { '@writes': 'notes:write' }
   */
  toolScopes?: Readonly<Record<string, string>>
  /**
   * Lists the workspaces of a user, at sign-in and after each refresh of their session, within ten seconds. If there are
   * several, the user chooses one for each client.
   */
  workspaces?(context: CallerContext): readonly Workspace[] | Promise<readonly Workspace[]>
  /** Instructions for the model: what the tools are about and where to begin. */
  instructions?: string
  /** The server's presentation to clients. */
  serverInfo?: { name?: string; title?: string; version?: string; websiteUrl?: string }
  /**
   * Adds resources, prompts, completions, and tools that ask the client for input. Called for every request that
   * needs it, or once per session; must be quick and keep no state of its own.
   */
  register?(server: McpServer, context: CallerContext, sdk: RegisterKit): void
  /**
   * True when `register` adds anything that asks the client during a call (sampling, elicitation, roots) or notifies it
   * of changes. Clients of the revisions up to 2025-11-25 then get sessions.
   */
  asksClient?: boolean
  /** Called once, before the first request. The returned function is called at the end. */
  start?(host: ModuleHost): ModuleStop | void | Promise<ModuleStop | void>
}

/** Releases what `start` acquired. */
type ModuleStop = () => void | Promise<void>

/** Parts of the MCP SDK for {@link ToolModule.register}, of the very copy that the server was made with. */
export interface RegisterKit {
  ResourceTemplate: typeof ResourceTemplate
  completable: typeof completable
  inputRequired: typeof inputRequired
  inputResponse: typeof inputResponse
  acceptedContent: typeof acceptedContent
  fromJsonSchema: typeof fromJsonSchema
  requireScopes: typeof requireScopes
  /**
   * Makes the `requestState` of an answer that asks for input: sealed, valid for ten minutes, and only for this user, client
   * and request. `ctx.mcpReq.requestState()` of the next round returns `state`; a client can present it twice.
   */
  sealState(state: unknown): string
}

/** The argument of `start`. */
export interface ModuleHost {
  notify: ModuleNotifications
}

/** Notifications to all clients that listen. */
export interface ModuleNotifications {
  toolsChanged(): void
  promptsChanged(): void
  resourcesChanged(): void
  resourceUpdated(uri: string): void
}

/** A JSON Schema document of any dialect from draft-06 to 2020-12; without `$schema` it is 2020-12. */
type JsonSchema = Readonly<Record<string, unknown>>

/** A schema of a plain tool: JSON Schema, or a schema of a Standard Schema library (zod 4.2, ArkType, Valibot). */
export type ToolSchema = JsonSchema | StandardSchemaWithJSON

/** One plain tool. `call` gets arguments that `inputSchema` has accepted. */
export type ToolDeclaration = ProtectedToolDeclaration | PublicToolDeclaration

/** A tool for people who have signed in. */
export interface ProtectedToolDeclaration extends ToolListing {
  public?: false
  /** A scope that the caller needs in addition to `mcp`, one of {@link ToolModule.scopes}. */
  scope?: string
  /**
   * A thrown {@link Error} goes to the log, and becomes a tool error without details. To tell the model the reason,
   * return `{ isError: true, content: [...] }`.
   */
  call(input: unknown, context: ToolContext): ToolAnswer | Promise<ToolAnswer>
}

/** A tool that anyone may call without signing in. */
interface PublicToolDeclaration extends ToolListing {
  public: true
  scope?: undefined
  /** As in {@link ProtectedToolDeclaration}; `context.user` is undefined for a caller who has not signed in. */
  call(input: unknown, context: PublicToolContext): ToolAnswer | Promise<ToolAnswer>
}

/** The entry of a plain tool in `tools/list`. */
interface ToolListing {
  /** Letters, digits, `_`, `-` and `.`, at most 128; no two alike. */
  name: string
  title?: string
  description?: string
  /** Default: an object without members. */
  inputSchema?: ToolSchema
  /** If given, every result that is not an error needs `structuredContent` that fits. */
  outputSchema?: ToolSchema
  annotations?: Tool['annotations']
  icons?: Tool['icons']
  /** Passed on unchanged, such as `ui` of MCP Apps. Keys that this server sets itself are refused. */
  _meta?: Tool['_meta']
}

/** The answer of a plain tool: a text, or a result of MCP, in which `content` may be left out if there is `structuredContent`. */
export type ToolAnswer =
  | string
  | CallToolResult
  | (Omit<CallToolResult, 'content'> & { structuredContent: Record<string, unknown> })

/**
 * The caller, and what a tool can do on their behalf. Where a module has public tools, `register` is called for people who have not
 * signed in, too: `user`, `credential` and `providerToken` then throw, and nothing that would come after is registered for them.
 */
export interface CallerContext {
  user: Readonly<User>
  /** Scopes of the credential, separated by single spaces. */
  scope: string
  /** Undefined if the credential is the provider's own. */
  clientId: string | undefined
  /** The one that the user chose for the client; undefined without {@link ToolModule.workspaces}, or outside of a grant. */
  workspace: Readonly<Workspace> | undefined
  credential: CredentialKind
  /** The user's current access token at the session provider; empty if a web app (`PROVIDER=app`) gave none. Never give it to the client or to a log. Throws when no key opens it. */
  providerToken(): string
  /**
   * Signs who calls, with which client, scope and workspace, for 60 seconds: for an API of the app that checks it with the keys
   * at `/oauth/jwks`. `audience` is the URL of that API. Rejects for a caller who has not signed in.
   */
  assertion(audience: string): Promise<string>
  /**
   * `fetch` for at most ten seconds, its body included, and ended when the client cancels. Requests to the origin of the
   * session provider, which for Supabase is the whole project, carry the user's access token, the API key and the headers
   * `Drawbridge-Client`, `-Scope` and `-Workspace`; requests to anywhere else carry nothing.
   */
  fetch(input: string | URL, init?: RequestInit): Promise<Response>
}

/** The context of a running plain tool. */
export interface ToolContext extends CallerContext {
  /** Aborted when the client cancels or goes away. */
  signal: AbortSignal
  /** Reports progress to the client, if it asked for that. `progress` must grow. */
  progress(progress: number, total?: number, message?: string): void
  /** Sends a log line to the client, if it asked for that level. */
  log(level: LoggingLevel, data: unknown): void
}

/** The context of a running public tool. Without a user, `fetch` sends only the API key, and `providerToken` throws. */
export interface PublicToolContext extends Omit<ToolContext, 'user' | 'credential'> {
  user: Readonly<User> | undefined
  credential: CredentialKind | 'none'
}
