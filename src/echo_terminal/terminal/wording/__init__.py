"""Commands on their way to bashkit, and its error texts on their way back, in the words of bash and GNU tools."""
