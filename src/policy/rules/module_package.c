#include "policy/rules/module_package.h"

#include <stdbool.h>
#include <string.h>

#include "base/own.h"

/* Modules whose package has a different name. Names that differ only in case,
   "-", "_" or "." need no row: an index treats them as equal (PEP 503). */
static const struct {
	const char *module, *package;
} renamed[] = {
	{ "Bio", "biopython" },
	{ "Crypto", "pycryptodome" },
	{ "Cryptodome", "pycryptodomex" },
	{ "MySQLdb", "mysqlclient" },
	{ "OpenGL", "PyOpenGL" },
	{ "OpenSSL", "pyOpenSSL" },
	{ "PIL", "Pillow" },
	{ "Stemmer", "PyStemmer" },
	{ "Xlib", "python-xlib" },
	{ "absl", "absl-py" },
	{ "attr", "attrs" },
	{ "barcode", "python-barcode" },
	{ "binance", "python-binance" },
	{ "bs4", "beautifulsoup4" },
	{ "bson", "pymongo" },
	{ "community", "python-louvain" },
	{ "cpuinfo", "py-cpuinfo" },
	{ "cv2", "opencv-python-headless" },
	{ "dateutil", "python-dateutil" },
	{ "decouple", "python-decouple" },
	{ "discord", "discord.py" },
	{ "dns", "dnspython" },
	{ "docx", "python-docx" },
	{ "dotenv", "python-dotenv" },
	{ "engineio", "python-engineio" },
	{ "faiss", "faiss-cpu" },
	{ "ffmpeg", "ffmpeg-python" },
	{ "fitz", "PyMuPDF" },
	{ "git", "GitPython" },
	{ "github", "PyGithub" },
	{ "gitlab", "python-gitlab" },
	{ "googleapiclient", "google-api-python-client" },
	{ "gridfs", "pymongo" },
	{ "grpc", "grpcio" },
	{ "haiku", "dm-haiku" },
	{ "hydra", "hydra-core" },
	{ "imblearn", "imbalanced-learn" },
	{ "jose", "python-jose" },
	{ "jwt", "PyJWT" },
	{ "kafka", "kafka-python" },
	{ "ldap", "python-ldap" },
	{ "llama_cpp", "llama-cpp-python" },
	{ "magic", "python-magic" },
	{ "memcache", "python-memcached" },
	{ "mpl_toolkits", "matplotlib" },
	{ "multipart", "python-multipart" },
	{ "nacl", "PyNaCl" },
	{ "newspaper", "newspaper3k" },
	{ "odf", "odfpy" },
	{ "pdfminer", "pdfminer.six" },
	{ "pptx", "python-pptx" },
	{ "psycopg2", "psycopg2-binary" },
	{ "pylab", "matplotlib" },
	{ "pysat", "python-sat" },
	{ "pythonjsonlogger", "python-json-logger" },
	{ "pywt", "PyWavelets" },
	{ "pyximport", "Cython" },
	{ "readability", "readability-lxml" },
	{ "rest_framework", "djangorestframework" },
	{ "ruamel", "ruamel.yaml" },
	{ "serial", "pyserial" },
	{ "shapefile", "pyshp" },
	{ "skimage", "scikit-image" },
	{ "sklearn", "scikit-learn" },
	{ "skopt", "scikit-optimize" },
	{ "slugify", "python-slugify" },
	{ "snappy", "python-snappy" },
	{ "socketio", "python-socketio" },
	{ "speech_recognition", "SpeechRecognition" },
	{ "stl", "numpy-stl" },
	{ "tabula", "tabula-py" },
	{ "talib", "TA-Lib" },
	{ "telegram", "python-telegram-bot" },
	{ "tlz", "toolz" },
	{ "umap", "umap-learn" },
	{ "usb", "pyusb" },
	{ "vtkmodules", "vtk" },
	{ "weaviate", "weaviate-client" },
	{ "websocket", "websocket-client" },
	{ "wikipediaapi", "Wikipedia-API" },
	{ "wx", "wxPython" },
	{ "yaml", "PyYAML" },
	{ "z3", "z3-solver" },
	{ "zmq", "pyzmq" },
};

/* Modules that no package of the same name provides. */
static const char *const unprovided[] = {
	/* part of Python, but missing in some builds or older versions; needed
	   for 3.9, which cannot list its standard library */
	"annotationlib", "bz2", "compression", "ctypes", "curses", "dbm",
	"ensurepip", "idlelib", "lzma", "msvcrt", "readline", "sqlite3", "ssl",
	"test", "tkinter", "tomllib", "turtle", "turtledemo", "venv", "winreg",
	"winsound", "zlib",
	/* removed from Python; setuptools has no pkg_resources any more */
	"aifc", "asynchat", "asyncore", "audioop", "binhex", "cgi", "cgitb",
	"chunk", "crypt", "distutils", "imghdr", "imp", "lib2to3", "mailcap",
	"msilib", "nis", "nntplib", "ossaudiodev", "pipes", "pkg_resources",
	"smtpd", "sndhdr", "spwd", "sunau", "telnetlib", "uu", "xdrlib",
	/* part of Python 2 */
	"BaseHTTPServer", "ConfigParser", "HTMLParser", "Queue",
	"SimpleHTTPServer", "SocketServer", "StringIO", "Tkinter", "cPickle",
	"cStringIO", "commands", "cookielib", "exceptions", "httplib", "md5",
	"sets", "sha", "thread", "urllib2", "urlparse",
	/* part of Windows, other interpreters, or the distribution */
	"apt", "apt_pkg", "arcpy", "cairo", "clr", "dbus", "gi", "js",
	"machine", "micropip", "pyodide", "pythoncom", "pywintypes", "rpm",
	"win32api", "win32com", "win32con", "win32gui",
	/* shared by many packages */
	"azure", "google", "jaraco", "zope"
};

static bool
is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Whether the text can also be the name of a package, which does not end in
   "_". */
static bool
is_name(const char *text)
{
	size_t len = 0;

	if (!is_letter(text[0]))
		return false;
	while (is_letter(text[len]) || (text[len] >= '0' && text[len] <= '9') ||
	       text[len] == '_')
		len++;
	return !text[len] && len <= MODULE_NAME_MAX && text[len - 1] != '_';
}

const char *
module_package_find(const char *module)
{
	if (!is_name(module))
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(renamed); i++)
		if (!strcmp(renamed[i].module, module))
			return renamed[i].package;
	for (size_t i = 0; i < ARRAY_LEN(unprovided); i++)
		if (!strcmp(unprovided[i], module))
			return NULL;
	return module;
}
