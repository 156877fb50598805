"""terminado as its README starts it: one bash per socket at /terminal, on the loopback port given as the argument."""

import sys

import terminado
import tornado.ioloop
import tornado.web


class Health(tornado.web.RequestHandler):
    """Tells the bench that the server is up."""

    def get(self) -> None:
        """Answer."""
        self.write("ok")


def main() -> None:
    """Serve until killed."""
    manager = terminado.UniqueTermManager(shell_command=["bash", "--norc", "--noprofile"])
    application = tornado.web.Application(
        [
            (r"/health", Health),
            (r"/terminal", terminado.TermSocket, {"term_manager": manager}),
        ]
    )
    application.listen(int(sys.argv[1]), "127.0.0.1")
    tornado.ioloop.IOLoop.current().start()


main()
