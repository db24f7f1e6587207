import { z } from 'zod'
import { type AdminRoute, pathParameters } from './admin-route.ts'

/** Builds the OpenAPI 3.1 document of `routes`, as plain JSON. */
export function openApiDocument(
  routes: readonly AdminRoute[],
  version: string,
): { openapi: string; [member: string]: unknown } {
  const paths: Record<string, Record<string, object>> = {}
  for (const route of routes) {
    const path = (paths[route.path] ??= {})
    path[route.method.toLowerCase()] = {
      operationId: route.id,
      summary: route.summary,
      parameters: parametersOf(route),
      responses: responsesOf(route),
    }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Drawbridge admin API',
      version,
      description: 'Grants, clients, keys and audit events of a Drawbridge server.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'The token in the file of ADMIN_TOKEN_FILE.' },
      },
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

function parametersOf({ path, input }: AdminRoute): object[] {
  const inPath = pathParameters(path)
  return Object.entries(jsonSchema(input, 'output').properties ?? {}).map(([name, property]) => {
    const { description, ...schema } = property as Record<string, unknown>
    const isInPath = inPath.includes(name)
    return { name, in: isInPath ? 'path' : 'query', required: isInPath, description, schema }
  })
}

function responsesOf({ input, schema, result, refusals }: AdminRoute): Record<string, object> {
  const own = Object.entries(refusals).map(([status, description]) => [status, refusal(description)])
  return {
    200: {
      description: result,
      content: jsonContent({ ...jsonSchema(schema, 'input'), description: undefined }),
    },
    400: refusal(
      Object.keys(input.shape).length === 0
        ? 'Parameters were sent, but the operation takes none.'
        : 'A parameter is invalid or unknown; the description names it and the expected value.',
    ),
    401: {
      ...refusal('The token is missing or wrong.'),
      headers: { 'WWW-Authenticate': { description: '`Bearer`', schema: { type: 'string' } } },
    },
    ...(Object.fromEntries(own) as Record<string, object>),
    500: refusal('Something went wrong; the log has the cause.'),
    503: refusal('The store cannot be reached. Try again later.'),
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
