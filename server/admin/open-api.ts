import { z } from 'zod'
import { pathParameters } from './admin-route.ts'

/** One request of an API. `input` has the parameters of path and query, `body` is JSON; without a `schema` the answer is an empty 204. */
export interface DescribedRoute {
  id: string
  method: string
  path: string
  summary: string
  input: z.ZodObject
  body?: z.ZodType
  schema?: z.ZodType
  result: string
  /** By status, besides 401, 500 and 503, which all have. */
  refusals: Readonly<Record<string, string>>
}

/** What the document says of a whole API. `token` is the bearer token, in words. */
export interface DescribedApi {
  title: string
  description: string
  version: string
  url: string
  token: string
}

/** Builds the OpenAPI 3.1 document of `routes`, as plain JSON. */
export function openApiDocument(
  routes: readonly DescribedRoute[],
  { url, token, ...info }: DescribedApi,
): { openapi: string; [member: string]: unknown } {
  const paths: Record<string, Record<string, object>> = {}
  for (const route of routes) {
    const path = (paths[route.path] ??= {})
    const { body } = route
    path[route.method.toLowerCase()] = {
      operationId: route.id,
      summary: route.summary,
      parameters: parametersOf(route),
      ...(body && { requestBody: { required: true, content: jsonContent(jsonSchema(body, 'input')) } }),
      responses: responsesOf(route),
    }
  }
  return {
    openapi: '3.1.0',
    info: { ...info, license: { name: 'MIT', identifier: 'MIT' } },
    servers: [{ url }],
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer', description: token } },
      schemas: {
        Error: {
          type: 'object',
          properties: { error: { type: 'string' }, error_description: { type: 'string' } },
          required: ['error', 'error_description'],
        },
      },
    },
  }
}

function parametersOf({ path, input }: DescribedRoute): object[] {
  const inPath = pathParameters(path)
  return Object.entries(jsonSchema(input, 'output').properties ?? {}).map(([name, property]) => {
    const { description, ...schema } = property as Record<string, unknown>
    const isInPath = inPath.includes(name)
    return { name, in: isInPath ? 'path' : 'query', required: isInPath, description, schema }
  })
}

function responsesOf({ schema, result, refusals }: DescribedRoute): Record<string, object> {
  const own = Object.entries(refusals).map(([status, description]) => [status, refusal(description)])
  const content = schema && jsonContent({ ...jsonSchema(schema, 'input'), description: undefined })
  return {
    ...(content ? { 200: { description: result, content } } : { 204: { description: result } }),
    401: {
      ...refusal('The token is missing or wrong.'),
      headers: { 'WWW-Authenticate': { description: '`Bearer`', schema: { type: 'string' } } },
    },
    500: refusal('Something went wrong; the log has the cause.'),
    503: refusal('The store cannot be reached. Try again later.'),
    ...(Object.fromEntries(own) as Record<string, object>),
  }
}

function refusal(description: string): { description: string; content: object } {
  return { description, content: jsonContent({ $ref: '#/components/schemas/Error' }) }
}

function jsonContent(schema: object): object {
  return { 'application/json': { schema } }
}

/** Describes parameters as parsed, and responses as what they may contain, now or later. */
function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): z.core.JSONSchema.BaseSchema {
  const { $schema: _, ...described } = z.toJSONSchema(schema, {
    io,
    override({ jsonSchema: found }) {
      // The full range of safe integers says nothing.
      if (found.maximum === Number.MAX_SAFE_INTEGER) delete found.maximum
      if (found.minimum === Number.MIN_SAFE_INTEGER) delete found.minimum
    },
  })
  return described
}
